"""The command line of `python -m pyspark_barnabas`, and its exit status: 0 done, 1 refused or failed, 2 a usage error.

A failure is one sentence on stderr. Ctrl-C ends `watch`, which is no failure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from barnabas.client.addresses import parse_addresses
from barnabas.client.client import Client
from barnabas.client.errors import ConnectionFailed
from barnabas.protocol.errors import KafkaError
from pyspark_barnabas.cli import client_properties
from pyspark_barnabas.cli.abandoning import abandon
from pyspark_barnabas.cli.formatting import facts, report
from pyspark_barnabas.cli.inspection import look
from pyspark_barnabas.cli.recovering import recover, settle, show_losses
from pyspark_barnabas.cli.watching import watch
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.commit.ledger import LedgerDamaged
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.source.errors import SourceError

_PROGRAM = "python -m pyspark_barnabas"
_BOOTSTRAP = "127.0.0.1:9092"
_FAILURE, _INTERRUPTED = 1, 130


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{_PROGRAM}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str]) -> int:
    """Run the command and return the exit status."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    try:
        found = client_properties.ClientProperties()
        if options.command_config is not None:
            found = client_properties.read(options.command_config)
        bootstrap = found.bootstrap if options.bootstrap_servers is None else options.bootstrap_servers
        where = _BOOTSTRAP if bootstrap is None else bootstrap
        connection = ConnectionSettings(where, "barnabas-ledger", options.request_timeout_ms, found.security)
        client = connection.client()
    except ValueError as error:
        parser.error(str(error))
    try:
        with client:
            client.connect()
            options.action(client, SinkSettings(connection, prefix=options.prefix), options)
    except (KafkaError, SinkFailed, LedgerDamaged, SourceError) as error:
        is_default = bootstrap is None and isinstance(error, ConnectionFailed)
        hint = " (the default: --bootstrap-servers has the address of the cluster)" if is_default else ""
        print(f"{_PROGRAM}: {error}{hint}", file=sys.stderr)
        return _FAILURE
    except KeyboardInterrupt:
        return 0 if options.action is _watch else _INTERRUPTED
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = _Parser(
        prog=_PROGRAM, description="Show what an exactly-once sink did, and end the transactions of a dead one."
    )
    top_commands = top.add_subparsers(required=True, metavar="COMMAND")
    ledger = top_commands.add_parser("ledger", help="a sink's ledger")
    _add_recover(top_commands)
    commands = ledger.add_subparsers(required=True, metavar="COMMAND")
    shared = _shared()

    show = commands.add_parser(
        "show", parents=[shared], help="show runs, batches, open transactions, and the readers that wait"
    )
    show.add_argument(
        "--last", type=_positive, default=10, metavar="N", help="the number of runs and batches (default 10)"
    )
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(action=_show)

    live = commands.add_parser("watch", parents=[shared], help="print a line for each event, until Ctrl-C")
    live.add_argument(
        "--interval-ms", type=_positive, default=1000, metavar="MS", help="the interval between checks (default 1000)"
    )
    live.set_defaults(action=_watch)

    end = commands.add_parser(
        "abandon",
        parents=[shared],
        help="end the transactions of a dead query: commit the decided ones, abort the rest",
    )
    _add_signs_of_life(end)
    end.set_defaults(action=_abandon)
    return top


def _add_recover(commands: Any) -> None:
    recovery = commands.add_parser(
        "recover",
        parents=[_shared()],
        help="find the rows of a decided batch that a timeout aborted, and write them again",
    )
    recovery.add_argument(
        "--topic",
        action="append",
        required=True,
        metavar="TOPIC",
        help="a topic that the query writes to; give all of them",
    )
    does = recovery.add_mutually_exclusive_group()
    does.add_argument(
        "--execute", action="store_true", help="end the open transactions, and write the missing rows again"
    )
    does.add_argument(
        "--settle",
        type=_batch,
        metavar="QUERY_ID:BATCH",
        help="record in the ledger that this batch is finished, after you wrote its lost rows by hand",
    )
    _add_signs_of_life(recovery)
    recovery.set_defaults(action=_recover)


def _add_signs_of_life(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--fence", action="store_true", help="also if a run seems alive: the run fails, and loses nothing"
    )
    command.add_argument(
        "--quiet-ms",
        type=_positive,
        default=60_000,
        metavar="MS",
        help="a run seems alive if anything happened under the prefix in this time (default 60000)",
    )


def _shared() -> _Parser:
    shared = _Parser(add_help=False)
    shared.add_argument(
        "prefix", type=_prefix, metavar="PREFIX", help="the sink's transactionalIdPrefix, or spark-<query id>"
    )
    shared.add_argument(
        "--bootstrap-servers",
        type=_addresses,
        metavar="HOST:PORT[,…]",
        help=f"where to find the cluster (default {_BOOTSTRAP}, or bootstrap.servers of --command-config)",
    )
    shared.add_argument("--command-config", metavar="FILE", help="a client.properties of Kafka, for secured clusters")
    shared.add_argument(
        "--request-timeout-ms",
        type=_positive,
        default=10_000,
        metavar="MS",
        help="the timeout of each request (default 10000)",
    )
    return shared


def _show(client: Client, settings: SinkSettings, options: argparse.Namespace) -> None:
    seen = look(client, options.prefix, options.last)
    if options.json:
        print(json.dumps(facts(seen, options.last), indent=2, ensure_ascii=False))
    else:
        print("\n".join(report(seen, options.last)))


def _watch(client: Client, settings: SinkSettings, options: argparse.Namespace) -> None:
    watch(client, options.prefix, options.interval_ms, _say)


def _abandon(client: Client, settings: SinkSettings, options: argparse.Namespace) -> None:
    abandon(client, settings, quiet_ms=options.quiet_ms, fence_living=options.fence, say=_say)


def _recover(client: Client, settings: SinkSettings, options: argparse.Namespace) -> None:
    care = {"quiet_ms": options.quiet_ms, "fence_living": options.fence}
    if options.execute:
        recover(client, settings, options.topic, **care, say=_say)
    elif options.settle is not None:
        settle(client, settings, options.topic, options.settle, **care, say=_say)
    else:
        show_losses(client, settings, options.topic, _say)


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def _batch(text: str) -> tuple[str, int]:
    query_id, _, batch_id = text.rpartition(":")
    if not (query_id and batch_id.isascii() and batch_id.isdecimal() and len(batch_id) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is not a QUERY_ID:BATCH, as `ledger show` prints them")
    return query_id, int(batch_id)


def _prefix(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _addresses(text: str) -> str:
    try:
        parse_addresses(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999999999")
    return int(text)

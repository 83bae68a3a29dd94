"""`barnabas log dump`, `verify`, `repair` and `clean`: the files of a data directory, without a broker,
and `clean` also with a running one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from barnabas.broker.cli.terminal.options import Parser

FOUND_SOMETHING = 1


def run(arguments: Sequence[str]) -> int:
    """Run the command. Return the exit status: 0, or 1 if `verify` found something or `dump` found damage."""
    parser = Parser(prog="barnabas log", description="Read, check, repair and compact the files of a data directory.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="dump|verify|repair|clean")
    dump = commands.add_parser("dump", help="print batches, index entries, snapshots and checkpoints, one to a line")
    dump.add_argument("path", nargs="+", type=Path, help="a file, a partition's directory or a data directory")
    dump.add_argument("--records", action="store_true", help="print every record of every batch too")
    dump.add_argument("--json", action="store_true", help="a JSON object per line")
    verify = commands.add_parser("verify", help="check every batch, record, index and snapshot")
    verify.add_argument("path", type=Path, help="a data directory or a partition's directory")
    verify.add_argument("--json", action="store_true", help="a JSON object per finding, and one for the totals")
    repair = commands.add_parser("repair", help="remove unreadable parts from the partitions of a stopped directory")
    repair.add_argument("path", type=Path, help="a data directory")
    repair.add_argument("partition", nargs="*", help="such as orders-0; default: all")
    repair.add_argument("--yes", action="store_true", help="make the repair; without it, only print what would be lost")
    _add_clean(commands)
    options = parser.parse_args(arguments)
    if options.command == "clean":
        return _clean(options)
    for path in options.path if options.command == "dump" else [options.path]:
        if not path.exists():
            parser.error(f"{path}: no such file or directory")
    return {"dump": _dump, "verify": _verify, "repair": _repair}[options.command](options)


def _add_clean(commands: Any) -> None:
    from barnabas.broker.cli.terminal.topic_choice import METAVAR, topic_choice

    clean = commands.add_parser("clean", help="compact topics, in a stopped directory or in a running broker")
    clean.add_argument("--now", action="store_true", required=True, help="also logs that are too clean for the cleaner")
    clean.add_argument("--data-dir", metavar="DIR[,DIR…]", help="the directory of a broker that is stopped")
    clean.add_argument("--config", action="append", default=[], metavar="FILE", help="the broker's server.properties")
    clean.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of server.properties")
    clean.add_argument(
        "--http", metavar="HOST:PORT", help="where a running broker serves HTTP: the broker does the work"
    )
    clean.add_argument(
        "--bootstrap-server", metavar="HOST:PORT[,…]", help="an address for its clients, in place of --http"
    )
    clean.add_argument(
        "--command-config", metavar="FILE", help="a client.properties: TLS and the user for a secured --http"
    )
    clean.add_argument("--json", action="store_true", help="a JSON array instead of a table")
    clean.add_argument("partition", nargs="*", type=topic_choice, metavar=METAVAR, help="default: all compacted topics")


def _clean(options: argparse.Namespace) -> int:
    from barnabas.broker.cli.log.clean import run as clean
    from barnabas.broker.cli.terminal.failures import UsageError

    is_running = options.http is not None or options.bootstrap_server is not None
    if is_running and (options.data_dir or options.config or options.set):
        raise UsageError("log clean: --http is for a running broker, which knows its data directory and settings")
    return clean(options)


def _dump(options: argparse.Namespace) -> int:
    import json

    from barnabas.broker.cli.log.dump import dump, files_below
    from barnabas.logfiles.describe import line

    status = 0
    found = {given: files_below(given) for given in options.path}
    for given in (given for given, files in found.items() if not files):
        print(f"barnabas: there is no file of a data directory below {given}", file=sys.stderr)
        status = 1
    for path in (file for files in found.values() for file in files):
        if not options.json:
            print(f"Dumping {path}")
        for row in dump(path, with_records=options.records):
            print(json.dumps({"file": str(path)} | row) if options.json else line(row))
            if "problem" in row or row.get("isvalid") is False:
                status = FOUND_SOMETHING
    return status


def _repair(options: argparse.Namespace) -> int:
    from barnabas.broker.cli.log.repair import repair

    def is_agreed() -> bool:
        if options.yes or not sys.stdin.isatty():
            return bool(options.yes)
        return input("Repair? [y/N] ").strip().lower() in ("y", "yes")

    return repair(options.path, options.partition, is_agreed=is_agreed)


def _verify(options: argparse.Namespace) -> int:
    import json

    from barnabas.broker.cli.log.verify import as_line, as_object, data_directory, partitions, verify
    from barnabas.logfiles.segment_check import CheckTally

    found = partitions(options.path)
    if not found:
        print(f"barnabas: {options.path} is not a data directory: it has no partition", file=sys.stderr)
        return 1
    tally = CheckTally()
    is_watched = sys.stderr.isatty()

    def progress() -> None:
        if is_watched:
            print(f"\r{tally.segments} segments, {tally.size_bytes / 1e6:.0f} MB", end="", file=sys.stderr, flush=True)

    serious = 0
    for finding in verify(options.path, found, tally, progress):
        serious += not finding.is_note
        print(json.dumps(as_object(finding)) if options.json else as_line(finding))
    if is_watched:
        print(file=sys.stderr)
    if serious and not options.json:
        root = data_directory(options.path)
        print(f"barnabas log repair {root} prints which records can be kept, once the broker is stopped")
    if options.json:
        print(json.dumps(vars(tally) | {"findings": serious}))
    else:
        print(
            f"{tally.partitions} partitions, {tally.segments} segments, {tally.batches} batches, {tally.records}"
            f" records, {tally.size_bytes} bytes: {serious} findings"
        )
    return FOUND_SOMETHING if serious else 0

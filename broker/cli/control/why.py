"""`barnabas why`: consumer, producer, record, group, hanging. Queries a broker started with --control."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from urllib.parse import urlencode

from barnabas.broker.cli.control.control_request import ask, where_options
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser, whole
from barnabas.broker.cli.terminal.output import print_json

LONGER_THAN_MS = 1_000
"""The broker's default, too."""
_PATH = "/control/why"


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    about = {name: text for name, text in options.about(options).items() if text is not None}
    query = urlencode(about, errors="surrogateescape")
    path = f"{_PATH if options.command == 'hanging' else f'{_PATH}/{options.command}'}?{query}"
    found = ask(options, path)
    if options.json:
        print_json(found)
    elif options.command == "hanging":
        _print_hanging({about: answer["sentences"] for about, answer in found.items()})
    else:
        print("\n".join(found["sentences"]))
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas why",
        description="Explain what hangs in a running broker, and why. The broker needs --control.",
        parents=[where_options("why")],
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parents = [where_options("why", again=True)]
    consumer = commands.add_parser("consumer", parents=parents, help="why a group's consumers get nothing, or stop")
    consumer.add_argument("group", metavar="GROUP")
    consumer.add_argument("topic", metavar="TOPIC", nargs="?", help="only this topic")
    consumer.set_defaults(about=lambda options: {"group": options.group, "topic": options.topic})
    producer = commands.add_parser(
        "producer", parents=parents, help="why a producer was fenced or refused, or what its EndTxn waits for"
    )
    producer.add_argument("transactional_id", metavar="TRANSACTIONAL_ID")
    producer.set_defaults(about=lambda options: {"transactional_id": options.transactional_id})
    record = commands.add_parser(
        "record", parents=parents, help="what happened to a record, and which consumers can read it"
    )
    record.add_argument("place", metavar="TOPIC:PARTITION:OFFSET")
    record.set_defaults(about=lambda options: _place(options.place))
    group = commands.add_parser("group", parents=parents, help="why a rebalance does not end, member by member")
    group.add_argument("group", metavar="GROUP")
    group.set_defaults(about=lambda options: {"group": options.group})
    hanging = commands.add_parser("hanging", parents=parents, help="everything that hangs, some of each kind")
    hanging.add_argument(
        "--longer-than-ms",
        type=whole,
        default=LONGER_THAN_MS,
        metavar="MS",
        help=f"only transactions that have been open for this long (default {LONGER_THAN_MS})",
    )
    hanging.set_defaults(about=lambda options: {"longer_than_ms": options.longer_than_ms})
    return top


def _place(text: str) -> dict[str, str]:
    topic, *numbers = text.rsplit(":", 2)
    if len(numbers) != 2 or not topic or not all(each.isascii() and each.isdecimal() for each in numbers):
        raise UsageError(f"why record: {text!r} is not TOPIC:PARTITION:OFFSET, such as orders:0:42")
    return {"topic": topic, "partition": numbers[0], "offset": numbers[1]}


def _print_hanging(found: dict[str, list[str]]) -> None:
    if not found:
        print("Nothing hangs.")
    for about, sentences in found.items():
        print(f"{about}:")
        for sentence in sentences:
            print(f"  {sentence}")

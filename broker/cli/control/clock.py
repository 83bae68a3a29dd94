"""`barnabas clock`: show, freeze, advance, run, at. The clock of a broker started with --control, over HTTP."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from barnabas.broker.cli.control.control_request import ask, where_options
from barnabas.broker.cli.terminal.options import Parser
from barnabas.broker.cli.terminal.output import print_json

_PATH = "/control/clock"


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    state = ask(options, _PATH, options.change(options))
    if options.json:
        print_json(state)
    else:
        print(f"{state['now']} {state['state']}, {_ahead(state['ahead_ms'])}")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas clock",
        description="Stop the clock of a running broker, or move it ahead: for tests. The broker needs --control.",
        parents=[where_options("clock")],
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parents = [where_options("clock", again=True)]
    show = commands.add_parser("show", parents=parents, help="print its time")
    show.set_defaults(change=lambda _: None)
    freeze = commands.add_parser("freeze", parents=parents, help="stop it")
    freeze.set_defaults(change=lambda _: {"freeze": True})
    run = commands.add_parser("run", parents=parents, help="start it again from its time")
    run.set_defaults(change=lambda _: {"run": True})
    advance = commands.add_parser(
        "advance", parents=parents, help="move it ahead, and return when everything that became due is done"
    )
    advance.add_argument("by", metavar="TIME", help="90s, 15m, 1h30m, 7d")
    advance.set_defaults(change=lambda options: {"advance": options.by})
    at = commands.add_parser("at", parents=parents, help="move it ahead to a time, and stop it there")
    at.add_argument("moment", metavar="MOMENT", help="2026-11-24T13:20:00Z, or milliseconds since 1970")
    at.set_defaults(change=lambda options: {"at": options.moment})
    return top


def _ahead(ahead_ms: int) -> str:
    if ahead_ms == 0:
        return "as the machine's clock"
    return f"{abs(ahead_ms) / 1000:.3f} s {'ahead of' if ahead_ms > 0 else 'behind'} the machine's clock"

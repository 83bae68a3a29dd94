"""`barnabas groups end-locks`: acquisition locks of a share group end now (KIP-932). The broker needs --control."""

from __future__ import annotations

import argparse
from typing import Any

from barnabas.broker.cli.control.control_request import ask, token_of_variable, where_options
from barnabas.broker.cli.terminal.output import counted, print_json

_PATH = "/control/share-locks/end"


def add_parser(commands: Any) -> None:
    """Add the parser of `end-locks`. `commands`: the result of argparse's add_subparsers."""
    parser = commands.add_parser(
        "end-locks",
        parents=[where_options("groups", again=True)],
        help="end the locks of a share group's members, for tests: their records are delivered again",
    )
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("--member", metavar="MEMBER", help="only those of this member")
    parser.set_defaults(token=token_of_variable())


def end_locks(options: argparse.Namespace) -> None:
    """Run the command."""
    requested = {"group": options.group} | ({} if options.member is None else {"member": options.member})
    count = ask(options, _PATH, requested)["records_count"]
    if options.json:
        print_json({**requested, "records_count": count})
    else:
        print(f"group {options.group}: ended the locks of {counted(count, 'record')}")

"""`barnabas mcp`: serve the tools of a broker to a coding agent, over stdin and stdout."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.metadata import version

from barnabas.broker.cli.control.control_request import where_options
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status, when stdin ends."""
    options = parser().parse_args(arguments)
    try:
        from barnabas.broker.cli.control.mcp.server import BrokerOptions, make_server
    except ImportError as missing:
        raise UsageError("mcp needs the package mcp: pip install '/path/to/the/clone[mcp]'") from missing
    from barnabas.broker.cli import main

    given = {"--bootstrap-server": options.bootstrap_server, "--command-config": options.command_config}
    shared = [f"{name}={value}" for name, value in given.items() if value is not None]
    http = [] if options.http is None else [f"--http={options.http}"]
    token = [] if options.token is None else [f"--token={options.token}"]
    if options.bootstrap_server is None:
        shared += http  # the broker reports its address for clients
    connection = BrokerOptions(shared, [*(http or shared), *token])
    server = make_server(main, connection, version("barnabas"), allow_changes=options.allow_changes)
    server.run("stdio")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas mcp",
        description="Serve tools for a running broker to a coding agent (Model Context Protocol) on stdin and stdout.",
        parents=[where_options("mcp")],
    )
    top.add_argument(
        "--allow-changes",
        action="store_true",
        help="also tools that change the broker: create topics, produce, abort, faults, the clock",
    )
    return top

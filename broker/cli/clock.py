"""`barnabas clock`: show, freeze, advance, run, at. The clock of a broker that is served with --control, over HTTP."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.broker.cli.serve_options import http_address
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser
from barnabas.broker.cli.terminal.output import print_json

DEFAULT_HTTP = "127.0.0.1:9404"
_TOKEN_VARIABLE = "BARNABAS_CONTROL_TOKEN"
_PATH = "/control/clock"
_TIMEOUT_S = 600.0
"""A move of the clock may take its time; one that cannot go on is given up by the broker, after a minute."""
_BAD_REQUEST = 400


def run(arguments: Sequence[str]) -> int:
    """The command's exit status."""
    options = parser().parse_args(arguments)
    state = _ask(options.http, options.token, options.change(options))
    if options.json:
        print_json(state)
    else:
        print(f"{state['now']} {state['state']}, {_ahead(state['ahead_ms'])}")
    return 0


def parser() -> argparse.ArgumentParser:
    """What may be said."""
    top = Parser(
        prog="barnabas clock",
        description="Stop the clock of a broker that runs, or move it ahead: for tests. It is served with --control.",
        parents=_where(again=False),
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parents = _where(again=True)
    show = commands.add_parser("show", parents=parents, help="what it shows")
    show.set_defaults(change=lambda _: None)
    freeze = commands.add_parser("freeze", parents=parents, help="have it stand still")
    freeze.set_defaults(change=lambda _: {"freeze": True})
    run = commands.add_parser("run", parents=parents, help="have it go on from where it stands")
    run.set_defaults(change=lambda _: {"run": True})
    advance = commands.add_parser(
        "advance", parents=parents, help="move it ahead, and return when all that fell due is done"
    )
    advance.add_argument("by", metavar="TIME", help="90s, 15m, 1h30m, 7d")
    advance.set_defaults(change=lambda options: {"advance": options.by})
    at = commands.add_parser("at", parents=parents, help="move it ahead to a moment, and have it stand there")
    at.add_argument("moment", metavar="MOMENT", help="2026-11-24T13:20:00Z, or milliseconds since 1970")
    at.set_defaults(change=lambda options: {"at": options.moment})
    return top


def _where(*, again: bool) -> list[Parser]:
    options = Parser(add_help=False)
    options.add_argument(
        "--http",
        default=argparse.SUPPRESS if again else DEFAULT_HTTP,
        metavar="HOST:PORT",
        help=f"where the broker serves HTTP (default {DEFAULT_HTTP})",
    )
    options.add_argument(
        "--token",
        default=argparse.SUPPRESS if again else os.environ.get(_TOKEN_VARIABLE) or None,
        metavar="TOKEN",
        help=f"its --control-token (default ${_TOKEN_VARIABLE})",
    )
    options.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS if again else False, help="print JSON"
    )
    return [options]


def _ask(address: str, token: str | None, change: Mapping[str, object] | None) -> dict[str, Any]:
    """The clock as it is then. UsageError for what makes no sense to the broker; OSError."""
    from http.client import HTTPConnection, HTTPException

    where = http_address({"--http": [address]})
    assert where is not None, "an address is given"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    connection = HTTPConnection(*where, timeout=_TIMEOUT_S)
    try:
        if change is None:
            connection.request("GET", _PATH, headers=headers)
        else:
            connection.request("POST", _PATH, json.dumps(change), headers)
        answer = connection.getresponse()
        status, text = answer.status, answer.read()
    except ConnectionRefusedError as refused:
        why = f"{address}: connection refused (is a broker running with --http --control there?)"
        raise OSError(refused.errno, why) from None
    except ValueError as unfit:  # a token that no header can carry
        raise UsageError(f"clock: --token: {unfit}") from unfit
    except HTTPException as broken:
        raise OSError(f"{address}: the answer ended early: {broken!r}") from broken
    finally:
        connection.close()
    return _state(address, status, text)


def _state(address: str, status: int, text: bytes) -> dict[str, Any]:
    try:
        told: Any = json.loads(text)
    except ValueError:
        told = None
    if status == 200 and isinstance(told, dict):
        return told
    if not isinstance(told, dict) or "error" not in told:
        raise OSError(f"{address}: this is no broker that is served with --control")
    if status == _BAD_REQUEST:
        raise UsageError(f"clock: {told['error']}")
    raise OSError(f"{address}: {told['error']}")


def _ahead(ahead_ms: int) -> str:
    if ahead_ms == 0:
        return "as the machine's clock"
    return f"{abs(ahead_ms) / 1000:.3f} s {'ahead of' if ahead_ms > 0 else 'behind'} the machine's clock"

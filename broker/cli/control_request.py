"""Asking a broker that is served with --control, over HTTP: the options that say where it is, and one request."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from typing import Any

from barnabas.broker.cli.serve_options import http_address
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser

DEFAULT_HTTP = "127.0.0.1:9404"
TIMEOUT_S = 600.0
"""A move of the clock may take its time; one that cannot go on is given up by the broker, after a minute."""
_TOKEN_VARIABLE = "BARNABAS_CONTROL_TOKEN"
_BAD_REQUEST = 400


def where(*, again: bool) -> list[Parser]:
    """Parents of a command's parsers: where the broker is. again: for a subcommand, which may repeat the options."""
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


def ask(
    command: str,
    address: str,
    token: str | None,
    path: str,
    change: Mapping[str, object] | bytes | None = None,
    method: str | None = None,
) -> dict[str, Any]:
    """The answer to a GET, or to a POST of a change: a value, or JSON as it is. method: another than these.

    UsageError for what makes no sense to the broker; OSError.
    """
    from http.client import HTTPConnection, HTTPException

    host_and_port = http_address({"--http": [address]})
    assert host_and_port is not None, "an address is given"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    connection = HTTPConnection(*host_and_port, timeout=TIMEOUT_S)
    try:
        if change is None:
            connection.request(method or "GET", path, headers=headers)
        else:
            body = change if isinstance(change, bytes) else json.dumps(change)
            connection.request(method or "POST", path, body, headers)
        answer = connection.getresponse()
        status, text = answer.status, answer.read()
    except ConnectionRefusedError as refused:
        why = f"{address}: connection refused (is a broker running with --http --control there?)"
        raise OSError(refused.errno, why) from None
    except ValueError as unfit:  # a token that no header can carry
        raise UsageError(f"{command}: --token: {unfit}") from unfit
    except HTTPException as broken:
        raise OSError(f"{address}: the answer ended early: {broken!r}") from broken
    finally:
        connection.close()
    return _answer(command, address, status, text)


def _answer(command: str, address: str, status: int, text: bytes) -> dict[str, Any]:
    try:
        told: Any = json.loads(text)
    except ValueError:
        told = None
    if status == 200 and isinstance(told, dict):
        return told
    if not isinstance(told, dict) or "error" not in told:
        raise OSError(f"{address}: this is no broker that is served with --control")
    if status == _BAD_REQUEST:
        raise UsageError(f"{command}: {told['error']}")
    raise OSError(f"{address}: {told['error']}")

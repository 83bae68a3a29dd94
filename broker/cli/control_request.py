"""What commands ask of a broker that is served with --control: where it is, as whom, and how that may fail.

Knows HTTP and the options --http, --token, --command-config and --json; not what is asked for.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse, RemoteDisconnected
from socket import gaierror
from typing import Any

from barnabas.broker.cli.http_connection import open_connection
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser

DEFAULT_HTTP = "127.0.0.1:9404"
TIMEOUT_S = 600.0
"""A move of the clock may take its time; one that cannot go on is given up by the broker, after a minute."""
_TOKEN_VARIABLE = "BARNABAS_CONTROL_TOKEN"  # nosec B105 - the name of a variable
_BAD_REQUEST, _UNAUTHORIZED = 400, 401


def where_options(command: str, *, again: bool = False) -> Parser:
    """--http, --token, --command-config and --json, as a parent of a command's parser.

    again: for those of its own commands.
    """
    options = Parser(add_help=False)
    options.set_defaults(asks=command)
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
        "--command-config",
        default=argparse.SUPPRESS if again else None,
        metavar="FILE",
        help="a client.properties: how a secured HTTP port is reached, and as which user",
    )
    options.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS if again else False, help="print JSON"
    )
    return options


def ask(options: argparse.Namespace, path: str, body: object = None, *, method: str | None = None) -> dict[str, Any]:
    """The broker's answer in JSON. UsageError for what makes no sense to it; OSError.

    options: as `where_options` reads them. body: sent with POST, unless `method` is another, as JSON;
    bytes as they are.
    """
    with answered(options, path, body, method=method) as answer:
        return _checked(options, answer.status, answer.read())


@contextmanager
def answered(
    options: argparse.Namespace,
    path: str,
    body: object = None,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[HTTPResponse]:
    """As `ask`, to be read by the caller, from an answer that has come: also one that does not end by itself."""
    connection, who = open_connection(options.http, options.command_config, TIMEOUT_S)
    sent = {**(headers or {}), **(who if options.token is None else {"Authorization": f"Bearer {options.token}"})}
    try:
        text = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method or ("GET" if body is None else "POST"), path, text, sent)
        yield connection.getresponse()
    except ConnectionRefusedError:
        why = f"{options.http}: connection refused (is a broker running with --http --control there?)"
        raise OSError(why) from None
    except RemoteDisconnected:  # before a first byte of an answer: perhaps this is where Kafka clients connect
        told = "is this the address of the broker's --http?"
        if options.command_config is None:
            add = "add --command-config data.security/admin.properties"
            told += f" If the broker runs with --secure or --http-secure, {add}"
        raise OSError(f"{options.http}: no answer: {told}") from None
    except gaierror as unknown:
        raise OSError(f"{options.http}: {str(unknown.strerror).lower()}") from None
    except ValueError as unfit:  # a token that no header can carry
        raise UsageError(f"{options.asks}: --token: {unfit}") from unfit
    except HTTPException as broken:
        raise OSError(f"{options.http}: the answer ended early: {broken!r}") from broken
    finally:
        connection.close()


def check(options: argparse.Namespace, answer: HTTPResponse) -> None:
    """UsageError or OSError, with the broker's sentence, unless it does what it was asked for."""
    if answer.status != 200:
        _checked(options, answer.status, answer.read())


def _checked(options: argparse.Namespace, status: int, text: bytes) -> dict[str, Any]:
    try:
        told: Any = json.loads(text)
    except ValueError:
        told = None
    if status == 200 and isinstance(told, dict):
        return told
    if not isinstance(told, dict) or "error" not in told:
        raise OSError(f"{options.http}: this is no broker that is served with --control")
    if status == _BAD_REQUEST:
        raise UsageError(f"{options.asks}: {told['error']}")
    if status == _UNAUTHORIZED:
        if options.token is None and options.command_config is not None:
            raise OSError(f"{options.http}: {told['error']}: {options.command_config} says who asks")
        given = "needs a token" if options.token is None else "does not know this token"
        raise OSError(f"{options.http}: the broker {given}: --token TOKEN, or ${_TOKEN_VARIABLE}")
    raise OSError(f"{options.http}: {told['error']}")

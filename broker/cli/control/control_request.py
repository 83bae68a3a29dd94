"""Requests to a broker started with --control: its address, the credentials, and the possible failures.

Knows HTTP and the options --http, --bootstrap-server, --token, --command-config and --json; not the requests' contents.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any

from barnabas.broker.cli.terminal import http_connection
from barnabas.broker.cli.terminal.broker_addresses import http_of
from barnabas.broker.cli.terminal.client_settings import settings_of
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import REQUEST_TIMEOUT_MS, Parser, connected

DEFAULT_HTTP = "127.0.0.1:9404"
TIMEOUT_S = 600.0
"""Moving the clock may take long; the broker cancels a move that cannot continue, after a minute."""
_TOKEN_VARIABLE = "BARNABAS_CONTROL_TOKEN"  # nosec B105 - the name of a variable
_BAD_REQUEST, _UNAUTHORIZED = 400, 401


def where_options(command: str, *, again: bool = False) -> Parser:
    """Return --http, --bootstrap-server, --token, --command-config and --json, as a parent of a command's parser.

    again: for the parsers of its subcommands.
    """
    options = Parser(add_help=False)
    options.set_defaults(asks=command)
    options.add_argument(
        "--http",
        default=argparse.SUPPRESS if again else None,
        metavar="HOST:PORT",
        help=f"where the broker serves HTTP (default {DEFAULT_HTTP}, or the address that it reports to clients)",
    )
    options.add_argument(
        "--bootstrap-server",
        default=argparse.SUPPRESS if again else None,
        metavar="HOST:PORT[,…]",
        help="an address for clients, in place of --http: the broker there reports its HTTP address",
    )
    options.add_argument(
        "--token",
        default=argparse.SUPPRESS if again else token_of_variable(),
        metavar="TOKEN",
        help=f"its --control-token (default ${_TOKEN_VARIABLE})",
    )
    options.add_argument(
        "--command-config",
        default=argparse.SUPPRESS if again else None,
        metavar="FILE",
        help="a client.properties: TLS and the user for a secured HTTP port",
    )
    options.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS if again else False, help="print JSON"
    )
    return options


def token_of_variable() -> str | None:
    """Return the token that is used without --token."""
    return os.environ.get(_TOKEN_VARIABLE) or None


def ask(options: argparse.Namespace, path: str, body: object = None, *, method: str | None = None) -> dict[str, Any]:
    """Return the broker's answer as JSON. UsageError if the broker rejects the request as wrong; OSError.

    options: as `where_options` reads them. body: sent as JSON with POST, unless `method` is another; bytes are sent
    unchanged.
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
    """Keep the answer to a request, as of `ask`, open for reading once it has begun; it may also be an endless one."""
    options.http = found_http(options)
    text = body if body is None or isinstance(body, bytes) else json.dumps(body)
    try:
        with http_connection.answered(
            options.http,
            settings_of(options),
            path,
            text,
            method=method or ("GET" if body is None else "POST"),
            headers=headers,
            token=options.token,
            timeout_s=TIMEOUT_S,
            served_with="--http --control",
        ) as answer:
            yield answer
    except ValueError as unfit:  # a token that cannot be in a header
        raise UsageError(f"{options.asks}: --token: {unfit}") from unfit


def found_http(options: argparse.Namespace) -> str:
    """Return the broker's HTTP address: from --http, or the broker's configuration. UsageError, OSError, KafkaError."""
    if options.http is not None:
        return str(options.http)
    settings = settings_of(options)
    if options.bootstrap_server is None and (settings is None or settings.bootstrap is None):
        return DEFAULT_HTTP
    options.request_timeout_ms = REQUEST_TIMEOUT_MS
    with connected(options) as client:
        return http_of(client, settings, getattr(options, "token", None))


def check(options: argparse.Namespace, answer: HTTPResponse) -> None:
    """Raise UsageError or OSError, with the broker's sentence, unless the request succeeded."""
    if answer.status != 200:
        _checked(options, answer.status, answer.read())


def _checked(options: argparse.Namespace, status: int, text: bytes) -> dict[str, Any]:
    try:
        answer: Any = json.loads(text)
    except ValueError:
        answer = None
    if status == 200 and isinstance(answer, dict):
        return answer
    if not isinstance(answer, dict) or "error" not in answer:
        raise OSError(f"{options.http}: no broker with --control answers there")
    if status == _BAD_REQUEST:
        raise UsageError(f"{options.asks}: {answer['error']}")
    if status == _UNAUTHORIZED:
        if options.token is None and options.command_config is not None:
            raise OSError(f"{options.http}: {answer['error']}: {options.command_config} must name the user")
        given = "needs a token" if options.token is None else "does not know this token"
        raise OSError(f"{options.http}: the broker {given}: --token TOKEN, or ${_TOKEN_VARIABLE}")
    raise OSError(f"{options.http}: {answer['error']}")

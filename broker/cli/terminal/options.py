"""Common parts of the commands' parsers: one-line usage errors, and the connection to a broker."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from barnabas.broker.cli.terminal.client_settings import OPTION, ClientSettings, settings_of
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.client.addresses import Address, parse_addresses
from barnabas.client.client import Client
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import EncodeError, KafkaError

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_REGISTRY = "127.0.0.1:8081"
REQUEST_TIMEOUT_MS = 10_000
INT16_MAX, INT32_MAX, INT64_MAX = (1 << 15) - 1, (1 << 31) - 1, (1 << 63) - 1
"""The limits of the fields of requests."""
_DIGITS_MAX = 19
_AMBIGUOUS = re.compile(r"(?<=^ambiguous option: )(?P<name>[^=]*)=.*(?= could match )", re.DOTALL)


_CHOICE = re.compile(r"(?<=invalid choice: )'(?P<name>.*)' \(.*choose from (?P<known>.*)\)$", re.DOTALL)


def _with_near_choice(found: re.Match[str]) -> str:
    meant = did_you_mean(found["name"], [each.strip("'") for each in found["known"].split(", ")])
    return f"{found['name']!r}{meant}" if meant else found[0]


class Parser(argparse.ArgumentParser):
    """Reports an error in one line instead of printing the whole usage before it."""

    def add_subparsers(self, **settings: Any) -> Any:
        """Add subparsers as argparse does, which refuse unknown arguments themselves."""
        return super().add_subparsers(parser_class=_CommandParser, **settings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but do not quote unknown arguments: they may be passwords."""
        options, unknown = self.parse_known_args(args, namespace)
        self._refuse(unknown)
        return options

    def _refuse(self, unknown: Sequence[str]) -> None:
        if unknown:
            unknown_names = map(name_of, unknown)
            self.error(f"unrecognized arguments: {' '.join(word + self._meant(word) for word in unknown_names)}")

    def _meant(self, word: str) -> str:
        meant = did_you_mean(word, self._option_string_actions, "") if word.startswith("--") else ""
        return f" ({meant})" if meant else ""

    def error(self, message: str) -> NoReturn:
        unknown_names = _CHOICE.sub(_with_near_choice, _AMBIGUOUS.sub(r"\g<name>", message))
        raise UsageError(f"{self.prog.removeprefix('barnabas ')}: {unknown_names} (see {self.prog} --help)")


class _CommandParser(Parser):
    """The parser of a subcommand: its parent would point to the wrong help for an unknown flag."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        options, unknown = super().parse_known_args(args, namespace)
        self._refuse(unknown)
        return options, unknown


def shared_options(*, again: bool = False) -> list[Parser]:
    """Return parent parsers: the connection to a broker, and --json. A command with subcommands takes them twice.

    again: for subcommands, where an option that is not given leaves the value given before.
    """
    options = Parser(add_help=False)
    group = options.add_argument_group("connection")
    group.add_argument(
        "--bootstrap-server",
        default=argparse.SUPPRESS if again else None,
        metavar="HOST:PORT[,…]",
        help=f"where to find the cluster (default {DEFAULT_BOOTSTRAP}, or bootstrap.servers of {OPTION})",
    )
    group.add_argument(
        "--http",
        default=argparse.SUPPRESS if again else None,
        metavar="HOST:PORT",
        help="where the broker serves HTTP, in place of --bootstrap-server: the broker reports its address for clients",
    )
    group.add_argument(
        "--request-timeout-ms",
        type=at_most(INT32_MAX, positive),
        default=argparse.SUPPRESS if again else REQUEST_TIMEOUT_MS,
        metavar="MS",
        help=f"the timeout of each request (default {REQUEST_TIMEOUT_MS})",
    )
    group.add_argument(
        "--command-config",
        default=argparse.SUPPRESS if again else None,
        metavar="FILE",
        help="a client.properties of Kafka: TLS, SASL and bootstrap.servers",
    )
    output = Parser(add_help=False)
    output.add_argument("--json", action="store_true", default=argparse.SUPPRESS if again else False, help="print JSON")
    return [options, output]


def add_registry_option(parser: argparse._ActionsContainer, what: str) -> None:
    """Add --registry with an optional URL. what: what the registry is for."""
    parser.add_argument(
        "--registry",
        nargs="?",
        const=DEFAULT_REGISTRY,
        metavar="URL",
        help=f"{what} (default {DEFAULT_REGISTRY})",
    )


def take_word_of_registry(options: argparse.Namespace, positional: str) -> None:
    """Take a word behind --registry that is no address for the positional argument, if that one is missing."""
    word = options.registry
    if getattr(options, positional) is None and word is not None and ":" not in word:
        setattr(options, positional, word)
        options.registry = DEFAULT_REGISTRY


@contextmanager
def connected(options: argparse.Namespace) -> Iterator[Client]:
    """Hold a client that has reached a broker; ConnectionFailed at once if there is none, UsageError for no address.

    UsageError, too, for invalid security settings, and for text that no request can contain: too long, or not UTF-8.
    OSError if the broker was to be found by its HTTP address, and was not.
    """
    settings, timeout_ms = settings_of(options), options.request_timeout_ms
    security = None if settings is None else settings.security
    http = None if options.bootstrap_server else options.http
    if http is not None:
        from barnabas.broker.cli.terminal.broker_addresses import (  # HTTP, which few commands need
            bootstrap_of,
            connect_to,
        )

    bootstrap = addresses_of(options.bootstrap_server, settings) if http is None else bootstrap_of(http, settings)
    with Client(bootstrap, client_id="barnabas-cli", timeout_ms=timeout_ms, security=security) as client:
        if http is None:
            client.connect()
        else:
            connect_to(client, http, settings)
        try:
            yield client
        except EncodeError as error:
            raise UsageError(f"an argument does not fit in a request: {error}") from error
        except KafkaError as error:
            from barnabas.broker.cli.terminal.near_names import with_near_name

            raise with_near_name(error, client, options) from error


def addresses_of(given: str | None, settings: ClientSettings | None) -> list[Address]:
    """Return the cluster's addresses: of --bootstrap-server, or of bootstrap.servers in the file. UsageError."""
    in_file = None if settings is None else settings.bootstrap
    try:
        return parse_addresses(in_file or DEFAULT_BOOTSTRAP if given is None else given)
    except ValueError as error:
        where = "--bootstrap-server"
        if settings is not None and in_file and given is None:
            where = f"{OPTION}: {settings.path}: bootstrap.servers"
        raise UsageError(f"{where}: {error}") from error


def at_most(limit: int, number: Callable[[str], int]) -> Callable[[str], int]:
    """Return a parser as `number` that refuses numbers above `limit`."""

    def parsed(text: str) -> int:
        found = number(text)
        if found > limit:
            raise argparse.ArgumentTypeError(f"must be at most {limit}")
        return found

    return parsed


def positive(text: str) -> int:
    """Parse a whole number above 0."""
    number = 0 if _is_negative(text) else whole(text)
    if not number:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def whole(text: str) -> int:
    """Parse a whole number, 0 or more, of 64 bits."""
    if _is_negative(text):
        raise argparse.ArgumentTypeError("must be at least 0")
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    digits = text.lstrip("0")
    if len(digits) > _DIGITS_MAX or (number := int(digits or "0")) > INT64_MAX:
        raise argparse.ArgumentTypeError(f"must be at most {INT64_MAX}")
    return number


def _is_negative(text: str) -> bool:
    return text.startswith("-") and text.isascii() and text[1:].isdecimal()


def assignment(text: str) -> tuple[str, str]:
    """Parse `key=value`."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError("an argument is not KEY=VALUE")  # not quoted either: values may be secrets
    return key, value


def name_of(word: str) -> str:
    """Return the printable part of an unknown word: an option's name, and nothing that may be a value."""
    return word.partition("=")[0] if word.startswith("-") else "(a word)"


def unique_keys(pairs: Sequence[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the pairs as a dictionary; UsageError if a key was given twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UsageError(f"{option}: a key is given twice")
    return found

"""What the commands' parsers share: one-line usage errors, and how to reach a broker."""

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
REQUEST_TIMEOUT_MS = 10_000
INT16_MAX, INT32_MAX, INT64_MAX = (1 << 15) - 1, (1 << 31) - 1, (1 << 63) - 1
"""What requests can carry."""
_DIGITS_MAX = 19
_AMBIGUOUS = re.compile(r"(?<=^ambiguous option: )(?P<name>[^=]*)=.*(?= could match )", re.DOTALL)


_CHOICE = re.compile(r"(?<=invalid choice: )'(?P<name>.*)' \(.*choose from (?P<known>.*)\)$", re.DOTALL)


def _with_near_choice(found: re.Match[str]) -> str:
    meant = did_you_mean(found["name"], [each.strip("'") for each in found["known"].split(", ")])
    return f"{found['name']!r}{meant}" if meant else found[0]


class Parser(argparse.ArgumentParser):
    """Reports what is wrong in one line instead of printing the whole usage in front of it."""

    def add_subparsers(self, **settings: Any) -> Any:
        """As argparse's, for commands that refuse what they do not know themselves."""
        return super().add_subparsers(parser_class=_CommandParser, **settings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but what is not understood is not quoted: it may be a password."""
        options, unknown = self.parse_known_args(args, namespace)
        self._refuse(unknown)
        return options

    def _refuse(self, unknown: Sequence[str]) -> None:
        if unknown:
            told = map(name_of, unknown)
            self.error(f"unrecognized arguments: {' '.join(word + self._meant(word) for word in told)}")

    def _meant(self, word: str) -> str:
        meant = did_you_mean(word, self._option_string_actions, "") if word.startswith("--") else ""
        return f" ({meant})" if meant else ""

    def error(self, message: str) -> NoReturn:
        told = _CHOICE.sub(_with_near_choice, _AMBIGUOUS.sub(r"\g<name>", message))
        raise UsageError(f"{self.prog.removeprefix('barnabas ')}: {told} (see {self.prog} --help)")


class _CommandParser(Parser):
    """The parser of a command's command: the one above it would point to the wrong help for an unknown flag."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        options, unknown = super().parse_known_args(args, namespace)
        self._refuse(unknown)
        return options, unknown


def shared_options(*, again: bool = False) -> list[Parser]:
    """Parent parsers: how to reach a broker, and --json. A command that has commands of its own takes them twice.

    again: for such a command's commands, where an option that is not given leaves what was given before.
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
        help="where the broker serves HTTP, in place of --bootstrap-server: it is asked where clients connect",
    )
    group.add_argument(
        "--request-timeout-ms",
        type=at_most(INT32_MAX, positive),
        default=argparse.SUPPRESS if again else REQUEST_TIMEOUT_MS,
        metavar="MS",
        help=f"how long to try a request (default {REQUEST_TIMEOUT_MS})",
    )
    group.add_argument(
        "--command-config",
        default=argparse.SUPPRESS if again else None,
        metavar="FILE",
        help="a client.properties of Kafka's: how connections are secured, and where they lead",
    )
    output = Parser(add_help=False)
    output.add_argument("--json", action="store_true", default=argparse.SUPPRESS if again else False, help="print JSON")
    return [options, output]


@contextmanager
def connected(options: argparse.Namespace) -> Iterator[Client]:
    """A client that has reached a broker; ConnectionFailed at once if there is none, UsageError for no address.

    UsageError, too, for settings of security that make no sense, and for what no request can carry: a text that is too
    long, or is no UTF-8. OSError where the broker was to be found by its HTTP, and is not.
    """
    settings, timeout_ms = settings_of(options), options.request_timeout_ms
    security = None if settings is None else settings.security
    http = None if options.bootstrap_server else options.http
    if http is not None:
        from barnabas.broker.cli.terminal.whereabouts import bootstrap_of, connect_to  # HTTP, which few commands need

    bootstrap = addresses_of(options.bootstrap_server, settings) if http is None else bootstrap_of(http, settings)
    with Client(bootstrap, client_id="barnabas-cli", timeout_ms=timeout_ms, security=security) as client:
        if http is None:
            client.connect()
        else:
            connect_to(client, http, settings)
        try:
            yield client
        except EncodeError as error:
            raise UsageError(f"no request can carry what was given: {error}") from error
        except KafkaError as error:
            from barnabas.broker.cli.terminal.near_names import with_near_name

            raise with_near_name(error, client, options) from error


def addresses_of(given: str | None, settings: ClientSettings | None) -> list[Address]:
    """Where the cluster is: as --bootstrap-server says, or bootstrap.servers of the file. UsageError."""
    in_file = None if settings is None else settings.bootstrap
    try:
        return parse_addresses(given or in_file or DEFAULT_BOOTSTRAP)
    except ValueError as error:
        where = "--bootstrap-server"
        if settings is not None and in_file and not given:
            where = f"{OPTION}: {settings.path}: bootstrap.servers"
        raise UsageError(f"{where}: {error}") from error


def at_most(limit: int, number: Callable[[str], int]) -> Callable[[str], int]:
    """A number of that kind, and no larger one."""

    def parsed(text: str) -> int:
        found = number(text)
        if found > limit:
            raise argparse.ArgumentTypeError(f"must be at most {limit}")
        return found

    return parsed


def positive(text: str) -> int:
    """A whole number above 0."""
    number = whole(text)
    if not number:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def whole(text: str) -> int:
    """A whole number, 0 or more, of 64 bits."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    digits = text.lstrip("0")
    if len(digits) > _DIGITS_MAX or (number := int(digits or "0")) > INT64_MAX:
        raise argparse.ArgumentTypeError(f"must be at most {INT64_MAX}")
    return number


def assignment(text: str) -> tuple[str, str]:
    """`key=value`."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError("a word is not KEY=VALUE")  # nor quoted: values may be secrets
    return key, value


def name_of(word: str) -> str:
    """What may be told of a word that is not understood: an option's name, and nothing that may be a value."""
    return word.partition("=")[0] if word.startswith("-") else "(a word)"


def unique_keys(pairs: Sequence[tuple[str, str]], option: str) -> dict[str, str]:
    """The pairs as a dictionary; UsageError if a key was given twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UsageError(f"{option}: a key is given twice")
    return found

"""Flags that Kafka's tools share, and how a translated command is run."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib import import_module

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser

_SETTINGS_FILES = [f"--{word}" for word in ("command-config", "consumer.config", "producer.config")]
_SETTINGS_FILES += ["--consumer-config", "--producer-config"]
_SECURITY = ("security.protocol", "sasl.", "ssl.")


def tool(name: str) -> Parser:
    """A parser with what every tool takes: where the broker is, and a file of client settings."""
    parser = Parser(prog=name)
    parser.add_argument("--bootstrap-server", "--broker-list", help=argparse.SUPPRESS)
    for flag in _SETTINGS_FILES:
        parser.add_argument(flag, dest="command_config", help=argparse.SUPPRESS)
    return parser


def parse(parser: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """The flags. UsageError for one that is unknown here."""
    options: argparse.Namespace = parser.parse_args(arguments)
    return options


def refuse_security(settings: dict[str, str], prog: str) -> None:
    """UsageError for security in the command line itself, where every process of the machine could read it."""
    for key, value in settings.items():
        if key.startswith(_SECURITY) and (key, value) != ("security.protocol", "PLAINTEXT"):
            raise UsageError(f"{prog}: put {key} into a file, and name it with --command-config")


def pairs(words: Iterable[str]) -> list[tuple[str, str]]:
    """`key=value` of each word that is one; blank lines and comments are passed over."""
    found = (word.strip().partition("=") for word in words if not word.strip().startswith(("#", "!")))
    return [(key.strip(), value) for key, equals, value in found if equals]


def barnabas(command: str, options: argparse.Namespace, *words: str) -> int:
    """Run `barnabas COMMAND …` against the tool's broker; the exit status. Raises what the command raises."""
    where = [] if options.bootstrap_server is None else ["--bootstrap-server", options.bootstrap_server]
    if options.command_config is not None:
        where += ["--command-config", options.command_config]
    status: int = import_module(f"barnabas.broker.cli.{command}").run([*words, *where])
    return status


def choose(parser: Parser, options: argparse.Namespace, actions: Sequence[str]) -> str:
    """The one of `actions` that was asked for, all of which are flags. UsageError for none, or for several."""
    asked = [action for action in actions if getattr(options, action.replace("-", "_"))]
    if len(asked) != 1:
        parser.error(f"exactly one of {', '.join(f'--{action}' for action in actions)} is needed")
    return asked[0]

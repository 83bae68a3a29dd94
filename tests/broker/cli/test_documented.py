"""docs/cli.md names every command, subcommand and option there is, and none that is not."""

import argparse
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from barnabas.broker.cli import COMMANDS, main, module_of

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "cli.md").read_text()
OPTION = re.compile(r"--[a-z][a-z-]*")
WHERE = {"--bootstrap-server", "--http", "--command-config"}
EVERYWHERE = {"--help", "--version", "--json", "--request-timeout-ms", *WHERE}


class ParserFound(Exception):
    """Carries a command's parser out of it."""


def parser_of(name: str, monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser | None:
    """The parser a command would use, caught when it is about to; None if it uses none of argparse's."""

    def catch(self: argparse.ArgumentParser, *arguments: object) -> None:
        raise ParserFound(self)

    for parse in ("parse_known_args", "parse_intermixed_args"):
        monkeypatch.setattr(argparse.ArgumentParser, parse, catch)
    try:
        import_module(module_of(name)).run(["--help"])
    except ParserFound as found:
        parser = found.args[0]
        assert isinstance(parser, argparse.ArgumentParser)
        return parser
    return None


def walk(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and those of its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from walk(subparser)


def section(name: str) -> str:
    """The part of the document about one command."""
    found = re.search(rf"^## `barnabas {name}`\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/cli.md has no section `barnabas {name}`"
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = parser_of(name, monkeypatch)
    text = section(name)
    if parser is None:  # `serve` reads its options by a table of its own, and prints them all
        assert main([name, "--help"]) == 0
        options = set(OPTION.findall(capsys.readouterr().out))
    else:
        parsers = list(walk(parser))
        options = {option for each in parsers for action in each._actions for option in action.option_strings}
        for each in parsers[1:]:
            assert f"`{each.prog}" in text, f"docs/cli.md does not name {each.prog}"
    options = {option for option in options if option.startswith("--")} - EVERYWHERE
    assert set(OPTION.findall(text)) - EVERYWHERE == options


def test_the_common_options_and_the_exit_statuses_are_documented() -> None:
    assert set(OPTION.findall(DOCUMENT)) >= EVERYWHERE
    assert re.findall(r"^\| (\d+) \|", DOCUMENT, re.MULTILINE) == ["0", "1", "2", "130"]

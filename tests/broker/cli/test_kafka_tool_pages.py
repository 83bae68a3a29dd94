"""Kafka's tools of the container print and return what Kafka's own do, on command lines found in public set-ups.

The pages are recorded from Apache Kafka: tests/oracle/tools/test_pages_are_kafkas.py.
"""

import sys
from pathlib import Path

import pytest

from barnabas.broker.cli.kafka import main
from tests.support.command_line import run_here
from tests.support.kafka.tool_pages import FILES, PAGES, SETTINGS, Entry, answered, is_alike, read_page
from tests.support.processes.own_broker import OwnBroker


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tools_answer_as_kafkas_do(
    page: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    offline = run_here(main, capsysbinary)

    def run(name: str, arguments: list[str], stdin: str) -> tuple[int, str, str]:
        (tmp_path / "stdin").write_text(stdin)
        with (tmp_path / "stdin").open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            return offline(name, *arguments)

    wrong: list[str] = []
    with OwnBroker(tmp_path / "data", SETTINGS) as broker:
        for entry in read_page(page):
            answer = answered(entry, broker.address, tmp_path, run)
            if is_alike(entry, answer) == (entry.differs is not None):
                wrong.append(_shown(entry, answer))
    assert not wrong, "\n".join(wrong)


def _shown(entry: Entry, answer: tuple[int, list[str], list[str]]) -> str:
    return f"$ {entry.words}\n  Kafka:    {entry.answer}\n  Barnabas: {answer}"


def test_how_many_command_lines_are_alike_is_documented() -> None:
    entries = [entry for page in PAGES for entry in read_page(page)]
    alike = sum(entry.differs is None for entry in entries)
    told = (Path(__file__).parents[3] / "docs" / "container.md").read_text(encoding="utf-8")
    assert f"{alike} of {len(entries)} command lines" in told

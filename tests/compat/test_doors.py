"""The pages of docs/doors that need nothing but Python, done block by block: test_examples.py has other languages."""

from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.pages.blocks import blocks_of
from tests.support.pages.reader import Reader
from tests.support.processes.server import ROOT

DOORS = ROOT / "docs" / "doors"


def _no_tools(*_words: object, **_given: object) -> NoReturn:
    raise AssertionError("no door needs Kafka's own tools")


@pytest.mark.parametrize("name", ["pytest", "unittest", "compose"])
def test_a_door_shows_what_its_page_says(name: str, tmp_path: Path) -> None:
    with Reader(tmp_path, _no_tools) as reader:
        for block in blocks_of(DOORS / f"{name}.md"):
            if block.needs is None:
                reader.do(block)


def test_the_test_of_the_first_door_is_the_example() -> None:
    """Which tests/embedding runs."""
    [test] = [block for block in blocks_of(DOORS / "pytest.md") if block.is_file]
    assert test.text.partition("\n")[2] == (ROOT / "examples" / "pytest" / "test_orders.py").read_text(encoding="utf-8")

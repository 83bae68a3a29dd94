"""The picture of a terminal in the README shows the session that the recorder types, and nothing else."""

import xml.etree.ElementTree as ET

from tests.support.source_tree import ROOT
from tests.support.terminal.drawing import draw
from tests.support.terminal.recording import Line, as_displayed
from tests.support.terminal.session import SESSION

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_shows_the_session() -> None:
    said = _description(ROOT / "docs" / "terminal.svg")
    assert [line.removeprefix("$ ") for line in said if line.startswith("$ ")] == [typed.command for typed in SESSION]


def test_the_picture_shows_that_nothing_was_lost() -> None:
    sums = [line for line in _description(ROOT / "docs" / "terminal.svg") if line.endswith("  -")]
    assert len(sums) == 2
    assert sums[0] == sums[1]


def test_a_line_of_progress_is_displayed_as_its_last_state() -> None:
    assert as_displayed("10 records\r250 records\r") == "250 records"
    assert as_displayed("10 records\r250 records\r\x1b[K") == ""
    assert as_displayed("100 records\r7\r") == "700 records"


def test_a_long_line_is_folded_as_in_a_terminal() -> None:
    rows = [text.text for text in ET.fromstring(draw([Line("x" * 150, is_typed=False)])).iter(f"{SVG}text")]
    assert rows == ["x" * 100, "x" * 50]


def _description(path: object) -> list[str]:
    description = ET.parse(str(path)).getroot().find(f"{SVG}desc")
    assert description is not None
    return (description.text or "").splitlines()

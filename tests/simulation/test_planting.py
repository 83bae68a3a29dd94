"""Where a planted bug goes: it follows its code wherever that is moved, and says so where it cannot."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.places import Source, sources
from tests.simulation.planted.planting import Bug, plant

COUNTER = Source(
    "counters.counter",
    Path("counters/counter.py"),
    """
class Counter:
    def add(self, number):
        if number < 0:
            self.refuse(number)
            return
        self.total += number  # so that it is known
        self.tell()
""",
)
OTHER = Source("counters.other", Path("counters/other.py"), COUNTER.text)
BUG = Bug("a counter that loses", "It counts nothing.").at("Counter.add", "self.total += number")


def planted(bug: Bug, *within: Source) -> str:
    [tree] = bug.modules(within).values()
    return ast.unparse(tree)


@pytest.mark.parametrize("name", ["Fetch answered a minute late", "offset map off by one"])
def test_a_bug_follows_code_that_is_moved_and_laid_out_anew(name: str) -> None:
    [(original, tree)] = BUGS[name].modules().items()
    laid_out_anew = ast.unparse(ast.parse(original.text))  # without comments, on long lines
    moved = Source("elsewhere.of_another_name", Path("elsewhere.py"), f"{laid_out_anew}\nMORE = 1")
    assert planted(BUGS[name], moved) == f"{ast.unparse(tree)}\nMORE = 1"


def test_a_rename_names_the_bug_and_the_names_that_it_may_have_now() -> None:
    renamed = COUNTER._replace(text=COUNTER.text.replace("add", "added"))
    with pytest.raises(LookupError) as raised:
        BUG.modules((renamed, Source("far", Path("far.py"), "def away(): ...")))
    assert str(raised.value) == (
        "the planted bug 'a counter that loses' does not fit: Counter.add, 'self.total += number' is not there;"
        " names like it: counters.counter:Counter, counters.counter:Counter.added;"
        " such code is in: counters.counter:Counter.added"
    )


def test_two_places_are_one_too_many() -> None:
    twice = "'self.total += number' is there 2 times: counters/counter.py:7, counters/other.py:7"
    with pytest.raises(LookupError, match=re.escape(twice)):
        BUG.modules((COUNTER, OTHER))


def test_a_module_tells_which_of_two_places_is_meant() -> None:
    bug = Bug("another", "It counts nothing.").at("other:Counter.add", "self.total += number")
    assert [changed.name for changed in bug.modules((COUNTER, OTHER))] == ["counters.other"]


def test_a_statement_with_any_body_keeps_it() -> None:
    bug = Bug("another", "It refuses 0.").at("Counter.add", "if number < 0: ...", "if number <= 0: ...")
    assert planted(bug, COUNTER) == ast.unparse(ast.parse(COUNTER.text.replace("< 0", "<= 0")))


def test_what_has_nothing_left_passes() -> None:
    bug = Bug("another", "It takes all.").at("Counter.add", "self.refuse(number)\nreturn")
    assert "if number < 0:\n            pass\n        self.total += number\n" in planted(bug, COUNTER)


def test_a_bug_is_imported_at_its_own_line_and_leaves_no_bytecode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "planted_counters"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "counter.py").write_text("def half(number):\n    one = 1\n    return number // (one + 1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    plant(Bug("no half", "It divides by 0.").at("half", "one + 1", "one - 1"), tuple(sources(package)))
    counter = importlib.import_module("planted_counters.counter")
    with pytest.raises(ZeroDivisionError) as raised:
        counter.half(2)
    assert raised.traceback[-1].lineno == 2  # counted from 0
    assert [file.name.partition(".")[0] for file in package.glob("__pycache__/*")] == ["__init__"]
    with pytest.raises(AssertionError, match="imported already"):
        plant(Bug("late", "It comes too late.").at("half", "one = 1"), tuple(sources(package)))

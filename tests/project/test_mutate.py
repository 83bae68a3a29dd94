"""scripts/mutate: which mistakes it knows, that one changes what runs, and which tests a mutant has to survive."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.mutating import drawing, process
from scripts.mutating.__main__ import summarize
from scripts.mutating.drawing import Mutant, Recorded
from scripts.mutating.judging import Verdict
from scripts.mutating.points import mutated, points
from scripts.mutating.process import ROOT
from scripts.mutating.recording import python_path

FILE = "protocol/primitives.py"
"""Its varints are what the tests here change."""


def _mistakes(source: str) -> list[str]:
    return [point.mistake for point in points(source)]


@pytest.mark.parametrize(
    ("source", "mistakes"),
    [
        ("x = a < b", ["Lt becomes GtE", "Lt becomes LtE"]),
        ("x = a is not b", ["IsNot becomes Is"]),
        ("x = a < b == c", ["Eq becomes NotEq at 1", "Lt becomes GtE at 0", "Lt becomes LtE at 0"]),
        ("x = a + b", ["Add becomes Sub"]),
        ("x = a and not b", ["and becomes or", "not left out"]),
        ("x = 7", ["7 becomes 6", "7 becomes 8"]),
        ("x = True", ["True becomes False"]),
        ("x = [a for a in b if a]", ["negated"]),
        ("def f():\n    x.y = z\n    x[y] = z\n    z = x", ["left out", "left out"]),
        ("def f():\n    g()\n    raise x", ["left out", "left out"]),
        ("def f():\n    x -= y", ["Sub= becomes Add=", "left out"]),
        ("def f(x=1): pass", ["default 1 becomes 0", "default 1 becomes 2"]),
        ("def f():\n    return x", ["returns None"]),
        ("while x:\n    break", ["negated", "break becomes continue"]),
        ("def f():\n    for y in x:\n        continue", ["continue becomes break"]),
        ("def f():\n    try:\n        pass\n    except X:\n        del y", ["left out"]),
    ],
)
def test_a_source_has_these_mistakes(source: str, mistakes: list[str]) -> None:
    assert _mistakes(source) == mistakes


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring with 1 < 2."""',
        "x: Literal[1, 2]",
        "def f(x: Literal[1]) -> Literal[2]: pass",
        "@dataclass(frozen=True)\nclass C(Base, key=1): pass",
        "if TYPE_CHECKING:\n    x = 1",
        "__slots__ = ('a',) + other",
        "Alias = int | str",
        "_log.info('lost', 1 < 2)",
        "x = 'a' + b",
        "x = f'{a + 1}'",
        "assert x, 1 + 2",
        "from x import y",
        "def f():\n    return",
    ],
)
def test_what_no_test_needs_to_notice_is_left_alone(source: str) -> None:
    assert _mistakes(source) == []


def test_a_mistake_is_named_by_its_place_and_changes_nothing_else() -> None:
    source = "x = a ^ b ^ c\nif x:\n    y = 1\n"
    names = [point.name for point in points(source)]
    assert names == [
        "1:4-13 BitXor becomes BitOr",
        "1:4-9 BitXor becomes BitOr",
        "2:3-4 negated",
        "3:8-9 1 becomes 0",
        "3:8-9 1 becomes 2",
    ]
    assert ast.unparse(mutated(source, "2:3-4 negated")) == "x = a ^ b ^ c\nif not x:\n    y = 1"


@pytest.mark.parametrize(
    ("source", "lines", "names"),
    [
        ("def f(\n    x,\n):\n    return (\n        1\n    )", {4, 5, 6}, set()),
        ("def f():\n    if x < 1:\n        pass", {2}, set()),
        ("def f(\n    x=True,\n):\n    return x", {4}, set()),
        ("class C:\n    x: int = 1", set(), {"C"}),
        ("class C:\n    X = 1", set(), {"X"}),
        ("X = y(\n    z=1,\n)", set(), {"X"}),
    ],
)
def test_a_point_is_reached_by_its_statement_or_by_what_depends_on_it(
    source: str, lines: set[int], names: set[str]
) -> None:
    for point in points(source):
        assert (set(point.reach.lines), set(point.reach.names)) == (lines, names)


def test_every_point_has_a_name_of_its_own() -> None:
    for file in drawing.sources(["protocol/records"]):
        names = [point.name for point in points((ROOT / file).read_text())]
        assert len(set(names)) == len(names), file


def test_a_seed_draws_the_same_mutants_again_and_each_compiles() -> None:
    first = drawing.drawn(3, 20, ["protocol/records"])
    assert [mutant.name for mutant in drawing.drawn(3, 20, ["protocol/records"])] == [mutant.name for mutant in first]
    for mutant in first:
        compile(mutated((ROOT / mutant.file).read_text(), mutant.point.name), mutant.file, "exec")


def test_a_mutant_is_found_again_where_its_line_has_moved() -> None:
    now = _mutant("write_uvarint(out, (value << 1)")
    moved = now.planted.replace(f" {now.point.line}:", f" {now.point.line + 7}:")
    found = drawing.again(moved, now.line)
    assert found is not None
    assert (found.name, found.planted) == (moved, now.planted)
    assert drawing.again(moved, "another line") is None
    assert drawing.again("protocol/gone.py 1:2-3 left out", now.line) is None


def _mutant(text: str, file: str = FILE) -> Mutant:
    """The first mutant of a line with `text`."""
    source = (ROOT / file).read_text()
    return next(Mutant(file, point) for point in points(source) if text in source.splitlines()[point.line - 1])


ZIG_ZAG = _mutant("write_uvarint(out, (value << 1) ^ (value >> 31))")
PRINTED = "from barnabas.protocol.primitives import write_varint as w; out = bytearray(); w(out, 3); print(out.hex())"
CHANGED = f"""
from scripts.mutating import planting
from barnabas.protocol.primitives import write_varint
print(planting.plant({ZIG_ZAG.file!r}, {ZIG_ZAG.point.name!r}, planting.functions()) > 0)
{PRINTED}
"""


YIELDS = """
from inspect import isgeneratorfunction
from scripts.mutating import planting
from barnabas.storage.segment import time_search
print(planting.plant("storage/segment/time_search.py", {name!r}, planting.functions()))
print(isgeneratorfunction(time_search.max_timestamp_of))
"""


def _printed(program: str, **variables: str) -> str:
    environment = os.environ | {"PYTHONPATH": python_path(), "BARNABAS_FORM": "pure"} | variables
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_a_program_that_a_test_starts_has_the_mistake() -> None:
    assert ZIG_ZAG.point.mistake == "left out"
    assert _printed(PRINTED) == "06\n"
    assert _printed(PRINTED, **{process.PLANTED: ZIG_ZAG.name}) == "\n"


def test_a_function_that_was_imported_before_gets_the_mistake() -> None:
    assert _printed(CHANGED) == "True\n\n"


def test_a_generator_whose_only_yield_is_left_out_has_to_be_imported_so() -> None:
    name = _mutant("return (yield from _largest_in(", "storage/segment/time_search.py").point.name
    assert _printed(YIELDS.format(name=name)).split() == ["0", "True"]


def _recorded(directory: Path, seconds: dict[str, float], failed: str, early: int) -> Recorded:
    """As if mutant 0 were reached by all tests, one of which failed, and mutant `early` by an import."""
    outcomes = [
        json.dumps({"test": test, "s": s, "outcome": "failed" if test == failed else "passed"})
        for test, s in seconds.items()
    ]
    (directory / "journal").write_text("\n".join(outcomes))
    (directory / "reached").write_text("".join(f"0\t{test}\n" for test in seconds) + f"{early}\t\n")
    return Recorded(directory)


NEAREST, NEAR, FAR, FAILED = (
    "tests/protocol/test_primitives.py::test_a",
    "tests/protocol/codec/test_schema.py::test_b",
    "tests/broker/network/test_receive.py::test_c",
    "tests/protocol/test_primitives.py::test_d",
)
CASES = [f"tests/protocol/test_primitives.py::test_e[{number}]" for number in range(5)]


def test_the_nearest_and_shortest_tests_come_first_and_many_alike_last(tmp_path: Path) -> None:
    seconds = {FAR: 0.1, NEAR: 0.1, NEAREST: 0.3, FAILED: 0.1} | dict.fromkeys(CASES, 0.2)
    tests = _recorded(tmp_path, seconds, FAILED, early=7)
    assert list(tests.chosen(0, ZIG_ZAG, 100, first="")) == [*CASES[:3], NEAREST, NEAR, FAR, *CASES[3:]]
    assert list(tests.chosen(0, ZIG_ZAG, 1.05, first=FAR)) == [FAR, *CASES[:3], NEAREST]
    assert list(tests.chosen(0, ZIG_ZAG, 0, first=FAR)) == [FAR]
    assert tests.chosen(1, ZIG_ZAG, 100, first="") == {}
    assert tests.early == {7}


def test_the_last_lines_name_what_died_before(capsys: pytest.CaptureFixture[str]) -> None:
    before = [Verdict(name, "a = b", "killed", f"test_{name}", 1, 0.1) for name in ("x", "y", "z")]
    now = [
        Verdict("x", "a = b", "timeout", "test_x", 1, 0.1),
        Verdict("y", "a = b", "survived", "", 9, 0.1),
        Verdict("z", "a = b", "unreached", "", 0, 0),
    ]
    summarize(now, before)
    assert capsys.readouterr().out.splitlines() == [
        "1 of 3 mutants die (1 of them by time), 1 survive, 1 are reached by no test",
        "died before: y | a = b | by test_y",
        "died before: z | a = b | by test_z",
    ]

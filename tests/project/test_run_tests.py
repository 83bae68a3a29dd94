"""scripts/test: its table hides nothing (what failed, hung or could not run has failed), and two groups
run beside each other where there is place for them.
"""

import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scripts._pythons import PythonNotFound, find_python
from scripts.testing import __main__ as program
from scripts.testing import results, running, setting_up
from scripts.testing.groups import GROUPS, NEWEST, OLDEST, ROOT, Group
from scripts.testing.results import Row
from scripts.testing.running import Depth, run_all
from scripts.testing.setting_up import CannotRun
from scripts.testing.stress import stress

PYTHON = sys.executable
ALL = Depth()


def _group(text: str = "pass", name: str = "tried", budget_s: float = 60, places: float = 1) -> Group:
    return Group(name, budget_s, command=(PYTHON, "-c", text), form="pure", places=places)


def _run(group: Group, *arguments: str) -> Row:
    return running.run(group, Depth(arguments=arguments), None)


def _must_not_install(packages: list[str]) -> None:
    raise AssertionError(packages)


@pytest.fixture(autouse=True)
def _nothing_to_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "set_up", lambda group, **_: None)


def test_a_command_that_succeeds_is_one_test_passed() -> None:
    row = _run(_group())
    assert (row.outcome, row.passed, row.failed, row.is_good) == ("ran", 1, 0, True)


def test_a_command_that_fails_is_one_test_failed() -> None:
    row = _run(_group("raise SystemExit(3)"))
    assert (row.outcome, row.passed, row.failed, row.is_good) == ("FAILED", 0, 1, False)


def test_a_group_runs_in_its_form_and_may_keep_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("BARNABAS_FORM", "compiled")
    row = _run(_group("import os, sys; sys.exit(sys.dont_write_bytecode or os.environ['BARNABAS_FORM'] != 'pure')"))
    assert row.outcome == "ran"


def test_a_group_in_memory_has_the_folders_of_its_tests_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "choose_base", lambda: "/in/memory")
    monkeypatch.delenv("PYTEST_DEBUG_TEMPROOT", raising=False)
    group = _group("import os, sys; sys.exit(os.environ.get('PYTEST_DEBUG_TEMPROOT') != '/in/memory')")
    assert _run(replace(group, is_in_memory=True)).outcome == "ran"
    assert _run(group).outcome == "FAILED"


def test_every_folder_of_tests_belongs_to_a_group() -> None:
    run = {Path(path).name for group in GROUPS for path in group.paths if len(Path(path).parts) == 2}
    tests = Path(__file__).parents[1]
    assert {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py")} == run | {"project"}  # in check


def test_every_fast_test_runs_on_the_newest_python_and_on_the_oldest_a_part_or_all_of_them() -> None:
    newest, part, rest = (group for group in GROUPS if group.name.startswith("fast-"))
    assert (newest.python, part.python, rest.python) == (NEWEST, OLDEST, OLDEST)
    assert (newest.is_left_out, part.is_left_out, rest.is_left_out) == (False, False, True)
    assert all((ROOT / path).exists() for path in (*part.paths, *rest.paths))
    assert {Path(path).parts[1] for path in (*part.paths, *rest.paths)} == {Path(path).name for path in newest.paths}


def test_groups_of_several_workers_that_share_by_file_say_so_to_pytest(tmp_path: Path) -> None:
    command = running.pytest_command(
        Group("tried", 60, ("tests",), workers=2, by_file=True), tmp_path, ALL, is_measured=False
    )
    assert command[-7:] == ["-n", "2", "--dist", "loadfile", "-m", "not long", "tests"]


@pytest.mark.parametrize(
    ("group", "by_default", "with_long"),
    [
        (Group("whole", 60, ("tests",)), "not long", "not (not long)"),
        (Group("part", 60, ("tests",), marks="some"), "(some) and not long", "not ((some) and not long)"),
        (Group("left out", 60, ("tests",), is_left_out=True), "", ""),
    ],
    ids=lambda value: value.name if isinstance(value, Group) else None,
)
def test_a_long_run_takes_just_what_a_run_leaves_out(group: Group, by_default: str, with_long: str) -> None:
    assert (group.selection(is_long=False), group.selection(is_long=True)) == (by_default, with_long)


def _marked(*used: float) -> list[bool]:
    """Return for each of these parts of a budget whether its row of the table is marked as heavy."""
    rows = [Row(_group(name=f"g{number}", budget_s=10), "ran", 1, 10 * part) for number, part in enumerate(used)]
    return [", heavy: " in row.outcome for row in results.mark_heavy(rows)]


def test_a_group_that_takes_far_more_of_its_budget_than_the_others_is_marked() -> None:
    assert _marked(1, 1, 1, 1, 2.1) == [False, False, False, False, True]
    assert _marked(0.5, 0.5, 0.5, 0.5, 1.9) == [False] * 5
    assert _marked(1, 1, 2.1) == [False] * 3


def test_a_slow_machine_marks_no_group() -> None:
    assert _marked(3, 3, 3, 3, 5.9) == [False] * 5


def test_a_heavy_group_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row(_group(name=f"g{number}", budget_s=1), "ran", 1, 9 if number == 4 else 1) for number in range(5)]
    results.print_table(rows, 1)
    assert "ran, heavy: 9.0 of its budget, others 1.0" in capsys.readouterr().out
    assert all(row.is_good for row in rows)


def test_a_group_that_hangs_is_ended() -> None:
    row = running.run(_group("import threading; threading.Event().wait()"), Depth(hangs_after_s=0.2), None)
    assert not row.is_good
    assert row.seconds < 30


@pytest.mark.parametrize(
    ("name", "outcome"), [("empty", "FAILED: exit status 5"), ("changed", "ran")], ids=["of all", "of what has changed"]
)
def test_a_group_without_tests_has_failed_unless_a_change_reaches_long_tests_alone(name: str, outcome: str) -> None:
    row = _run(Group(name, 60, ("tests/project",), form="pure"), "-k", "no_test_has_this_name")
    assert (row.outcome, row.passed, row.is_good) == (outcome, 0, outcome == "ran")


def test_what_pytest_reports_is_counted() -> None:
    row = _run(Group("one", 60, ("tests/project/test_requirements.py",), form="pure"), "-k", "agree_on_versions")
    assert (row.outcome, row.passed, row.failed) == ("ran", 1, 0)


def test_what_failed_is_repeated_below_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = tmp_path / "test_sum.py"
    test.write_text("def test_sum():\n    assert 1 + 1 == 3, 'a sum'\n")
    row = _run(Group("sums", 60, (str(test),), form="pure"), "--noconftest", "-p", "no:cacheprovider")
    results.print_table([row], 1)
    printed = capsys.readouterr().out
    below = printed[printed.index("outcome\n") :]
    assert "sums, pure: " in below
    assert "test_sum::test_sum" in below
    assert "test_sum.py:2: AssertionError" in below
    assert "a sum" in below


def test_the_end_of_its_output_is_repeated_for_a_command_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = run_all([_group("print('a reason'); raise SystemExit(3)"), _group(name="other")], ALL)
    capsys.readouterr()
    results.print_table(rows, 1)
    assert "tried, pure: its output ends with\n  a reason\n" in capsys.readouterr().out


def test_a_program_that_debian_has_too_old_is_named_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program, path: None)
    monkeypatch.setattr(setting_up, "_install", _must_not_install)
    with pytest.raises(CannotRun, match=r"Go 1\.26 or later from https://go\.dev/dl"):
        setting_up.find_programs(("java", "go"))


def test_each_program_that_a_group_needs_is_installed_or_named_with_its_source() -> None:
    needed = {program for group in GROUPS for program in (*group.programs, *group.long_programs)}
    assert sorted(needed - setting_up.DEBIAN_PACKAGES.keys() - setting_up.ELSEWHERE.keys()) == []


def test_programs_of_postgresql_are_found_beside_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "15" / "bin" / "initdb"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setattr(setting_up, "_BESIDE_PATH", f"{tmp_path.relative_to('/')}/*/bin")
    monkeypatch.setattr(setting_up, "_install", _must_not_install)
    monkeypatch.setenv("PATH", "")
    setting_up.find_programs(("initdb",))


@pytest.mark.parametrize(("ci", "is_good"), [(False, True), (True, False)])
def test_a_group_that_could_not_run_is_a_failure_on_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: bool, is_good: bool
) -> None:
    def lacks_something(group: Group, **_: object) -> None:
        raise CannotRun("needs a program that is not installed")

    monkeypatch.setattr(results, "CI", ci)
    monkeypatch.setattr(running, "set_up", lacks_something)
    (row,) = run_all([_group()], ALL)
    assert row.is_good is is_good

    results.print_table([row], 1)
    printed = capsys.readouterr().out
    assert "not run: needs a program that is not installed" in printed
    assert printed.splitlines()[-1] == ("0 passed, 1 failed" if ci else "0 passed, 0 failed")


def test_a_set_up_that_breaks_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(group: Group, **_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(running, "set_up", breaks)
    with pytest.raises(ZeroDivisionError):
        run_all([_group(), _group(name="other")], ALL)


@pytest.mark.parametrize(("each", "places"), [(1, 2), (0.5, 1)])
def test_two_groups_run_beside_each_other(each: float, places: int, tmp_path: Path) -> None:
    """A pipe opens only when its other end does, so one after the other they would hang."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ends = [_group(f"open({str(pipe)!r}, {mode!r}).close()", name=mode, places=each) for mode in "rw"]
    assert [row.outcome for row in run_all(ends, Depth(hangs_after_s=60), places=places)] == ["ran", "ran"]


def test_a_group_that_takes_the_machine_runs_alone_and_each_begins_in_its_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = f"import sys\nfor word in ('begin', 'end'): print(word, sys.argv[1], file=open({str(log)!r}, 'a'))"
    groups = [
        replace(_group(name=name, places=places), command=(PYTHON, "-c", program, name))
        for name, places in (("first", 2), ("second", 1), ("third", 2))
    ]
    assert [row.group.name for row in run_all(groups, ALL, places=2)] == ["first", "second", "third"]
    lines = [f"{word} {name}" for name in ("first", "second", "third") for word in ("begin", "end")]
    assert log.read_text().splitlines() == lines


def test_the_last_line_counts_what_passed_and_failed(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row(_group(), "ran", passed=3)
    results.print_table([replace(row, processor_s=5), replace(row, outcome="FAILED", failed=2)], 61, 70)
    *_, times, empty, last = capsys.readouterr().out.splitlines()
    assert times == "1 min 1 s by the clock, 0 min 5 s of processor time, and 1 min 5 s to set up"
    assert (empty, last) == ("", "6 passed, 2 failed")


def test_what_a_test_notes_is_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_notes.py").write_text(
        "def test_a(request):\n    request.node.user_properties.append(('note', 'in memory instead'))\n"
    )
    row = _run(Group("noted", 60, (str(tmp_path),), workers=1, form="pure"), "--rootdir", str(tmp_path))
    capsys.readouterr()
    results.print_table([row], 1)
    assert capsys.readouterr().out.splitlines()[3].strip() == "in memory instead"


def _chosen(*arguments: str) -> list[tuple[str, str]]:
    """The groups that would be run, with their forms."""
    return [(group.name, group.form) for group in program.chosen(program.parse(list(arguments))[0])]


def test_what_is_left_out_runs_only_with_long() -> None:
    left_out = {(group.name, group.form) for group in GROUPS if group.is_left_out}
    assert left_out
    assert set(_chosen("--long")) - set(_chosen()) == left_out


def test_groups_are_named_and_pytests_arguments_follow_dashes() -> None:
    assert _chosen("fast") == [(f"fast-{NEWEST}", "pure"), (f"fast-{OLDEST}", "pure")]
    assert program.parse(["probes", "--", "-k", "x"])[1] == ("-k", "x")


def test_a_form_that_is_asked_for_takes_the_place_of_a_groups_own() -> None:
    assert ("crash", "compiled") in _chosen("crash")
    assert _chosen("crash", "probes", "--form", "pure") == [("crash", "pure"), ("probes", "pure")]


def test_coverage_is_of_the_pure_form_alone_and_of_one_python() -> None:
    assert [group.name for group in GROUPS if group.is_measured] == [f"fast-{NEWEST}"]
    compiled = program.chosen(program.parse(["fast", "--form", "compiled"])[0])
    assert not any(group.is_measured for group in compiled)


def test_an_unknown_group_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as stopped:
        program.parse(["slow"])
    assert stopped.value.code == 2


_COVERAGE = """
import sys
if "report" in sys.argv:
    print("broker/server/broker.py  10  1  4  1  85.7%  7->9\\nTOTAL  10  1  4  1  85.7%")
    sys.exit({status})
"""


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Group]:
    """measured(status): a group in whose environment `python -m coverage report` ends with `status`."""
    for module in (running, results):
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "UNTESTED", tmp_path / ".cache" / "coverage" / "untested.txt")

    def make(status: int) -> Group:
        python = tmp_path / "environment" / "bin" / "python"
        python.parent.mkdir(parents=True)
        coverage = tmp_path / "coverage_report.py"
        coverage.write_text(_COVERAGE.format(status=status))
        python.write_text(f'#!/bin/sh\nexec {PYTHON} {coverage} "$@"\n')
        python.chmod(0o755)
        return Group("measured", 60, ("tests",), venv="environment", is_measured=True)

    return make


def test_all_tests_of_a_measured_group_end_with_their_coverage(
    measured: Callable[[int], Group], capsys: pytest.CaptureFixture[str]
) -> None:
    row = _run(measured(0))
    assert (row.outcome, row.coverage, row.is_good) == ("ran", "85.7%", True)
    assert "7->9" in results.UNTESTED.read_text()

    results.print_table([row], 1)
    printed = capsys.readouterr().out
    assert "coverage 85.7%; what no test reached, by file: .cache/coverage/untested.txt" in printed
    assert "ran, coverage 85.7%" in printed


@pytest.mark.parametrize(("status", "why"), [(2, "coverage below its floor"), (1, "its coverage could not be read")])
def test_coverage_below_the_floor_is_a_failure(measured: Callable[[int], Group], status: int, why: str) -> None:
    row = _run(measured(status))
    assert (row.outcome, row.failed, row.is_good) == (f"FAILED: {why}", 1, False)


def test_coverage_of_some_tests_is_not_measured(measured: Callable[[int], Group]) -> None:
    row = _run(measured(2), "-k", "produce")
    assert (row.outcome, row.coverage) == ("ran", "")


def test_coverage_of_a_run_with_failures_is_not_compared(
    measured: Callable[[int], Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_run_within", lambda command, timeout_s, output: (1, 0.0))
    row = _run(measured(2))
    assert (row.outcome, row.coverage) == ("FAILED", "")


def test_coverage_names_folders_not_links() -> None:
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["source_dirs"]
    links = {path.resolve().name for path in (ROOT / "barnabas").iterdir() if path.is_symlink()}
    assert set(folders) == {"barnabas", "pyspark_barnabas", *links}


def test_a_stressed_group_that_fails_once_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once = f"import pathlib; path = pathlib.Path({str(tmp_path / 'ran')!r}); path.exists() or exit(path.touch() or 1)"
    assert stress([_group(once), _group(name="steady")], (), 3) == 1
    rows = [
        line.split()[:5] for line in capsys.readouterr().out.splitlines() if " of 3" in line and "round" not in line
    ]
    assert rows == [["tried", "pure", "2", "of", "3"], ["steady", "pure", "3", "of", "3"]]


def test_a_python_that_is_not_there_is_named() -> None:
    with pytest.raises(PythonNotFound, match=r"there is no Python 3\.99"):
        find_python("3.99")


def test_what_is_set_up_quickly_is_set_up_first(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(running, "set_up", lambda group, **_: order.append(group.name))
    long, compiled, quick = _group(name="programs"), _group(name="compiled"), _group(name="quick")
    groups = [replace(long, programs=("cc",)), replace(compiled, form="compiled"), quick]
    assert [row.group.name for row in run_all(groups, ALL)] == ["programs", "compiled", "quick"]
    assert order == ["quick", "compiled", "programs"]

"""The table at the end of scripts/test hides nothing: what failed, hung, took too long or could not run has failed."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import _run_tests as runner
from scripts._run_tests import CannotRun, Group, Row

PYTHON = sys.executable


def _group(program: str, budget_s: float = 60) -> Group:
    return Group("tried", budget_s, command=(PYTHON, "-c", program), form="pure")


@pytest.fixture(autouse=True)
def _nothing_to_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_set_up", lambda group: None)


def test_a_command_that_succeeds_is_one_test_passed() -> None:
    row = runner._run(_group("pass"), [])
    assert (row.outcome, row.passed, row.failed, row.is_good) == ("ran", 1, 0, True)


def test_a_command_that_fails_is_one_test_failed() -> None:
    row = runner._run(_group("raise SystemExit(3)"), [])
    assert (row.outcome, row.passed, row.failed, row.is_good) == ("FAILED", 0, 1, False)


def test_every_folder_of_tests_belongs_to_a_group() -> None:
    groups = [each for several in runner.GROUPS.values() for each in several]
    run = {Path(path).name for group in groups for path in group.paths if len(Path(path).parts) == 2}
    tests = Path(__file__).parents[1]
    assert {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py")} == run | {"project"}  # in check


def test_the_oldest_and_the_newest_python_run_every_fast_test_and_the_one_between_a_part() -> None:
    oldest, between, newest = (group for group in runner.GROUPS["fast"] if group.python)
    assert oldest.paths == newest.paths
    assert all((runner.ROOT / path).exists() for path in between.paths)
    assert {Path(path).parts[1] for path in between.paths} < {Path(path).name for path in newest.paths}


def test_groups_of_several_workers_that_share_by_file_say_so_to_pytest(tmp_path: Path) -> None:
    group = Group("tried", 60, ("tests",), workers=2, by_file=True)
    assert runner._pytest(group, tmp_path, [], is_measured=False)[-5:] == ["-n", "2", "--dist", "loadfile", "tests"]


def test_a_group_over_twice_its_budget_has_failed() -> None:
    row = runner._run(_group("pass", budget_s=0.001), [])
    assert row.failed == 1
    assert not row.is_good


def test_a_group_that_hangs_is_ended() -> None:
    row = runner._run(_group("import threading; threading.Event().wait()", budget_s=0.2), [])
    assert not row.is_good
    assert row.seconds < 30


def test_a_group_without_tests_has_failed() -> None:
    row = runner._run(Group("empty", 60, ("tests/project",), form="pure"), ["-k", "no_test_has_this_name"])
    assert row.outcome == "FAILED: exit status 5"
    assert not row.is_good


def test_what_pytest_reports_is_counted() -> None:
    row = runner._run(
        Group("one", 60, ("tests/project/test_requirements.py",), form="pure"), ["-k", "agree_on_versions"]
    )
    assert (row.outcome, row.passed, row.failed) == ("ran", 1, 0)


def test_a_program_that_debian_has_too_old_is_named_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def must_not_install(packages: list[str]) -> None:
        raise AssertionError(packages)

    monkeypatch.setattr(shutil, "which", lambda program: None)
    monkeypatch.setattr(runner, "_install", must_not_install)
    with pytest.raises(CannotRun, match=r"Go 1\.26 or later from https://go\.dev/dl"):
        runner._find_programs(("java", "go"))


@pytest.mark.parametrize(("ci", "is_good"), [(False, True), (True, False)])
def test_a_group_that_could_not_run_is_a_failure_on_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: bool, is_good: bool
) -> None:
    def lacks_something(group: Group) -> None:
        raise CannotRun("needs a program that is not here")

    monkeypatch.setattr(runner, "CI", ci)
    monkeypatch.setattr(runner, "_set_up", lacks_something)
    row = runner._run(_group("pass"), [])
    assert row.is_good is is_good

    runner._print_table([row])
    printed = capsys.readouterr().out
    assert "not run: needs a program that is not here" in printed
    assert printed.splitlines()[-1] == ("0 passed, 1 failed" if ci else "0 passed, 0 failed")


def test_the_last_line_counts_what_passed_and_failed(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row(_group("pass"), "ran", passed=3)
    runner._print_table([row, replace(row, outcome="FAILED", failed=2)])
    assert capsys.readouterr().out.splitlines()[-1] == "6 passed, 2 failed"


def test_what_a_test_notes_is_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_notes.py").write_text(
        "def test_a(request):\n    request.node.user_properties.append(('note', 'in memory instead'))\n"
    )
    row = runner._run(Group("noted", 60, (str(tmp_path),), workers=1, form="pure"), ["--rootdir", str(tmp_path)])
    capsys.readouterr()
    runner._print_table([row])
    assert capsys.readouterr().out.splitlines()[3].strip() == "in memory instead"


def _parsed(*arguments: str) -> tuple[list[tuple[str, str]], list[str]]:
    """What would be run: groups with their forms, and pytest's arguments."""
    groups, for_pytest = runner._parse(list(arguments))
    return [(group.name, group.form) for group in groups], for_pytest


def test_long_tests_are_left_out_unless_asked_for() -> None:
    assert _parsed("probes") == ([("probes", "compiled")], ["-m", "not long"])
    assert _parsed("probes", "--long", "--", "-k", "x") == ([("probes", "compiled")], ["-k", "x"])


def test_every_group_is_run_unless_some_are_named() -> None:
    names = [group.name for several in runner.GROUPS.values() for group in several]
    assert list(dict.fromkeys(name for name, _ in _parsed()[0])) == names


def test_the_pure_form_is_tested_where_coverage_is_and_where_both_are() -> None:
    pure = [name for name, form in _parsed()[0] if form == "pure"]
    assert pure == ["check", "fast-3.11", "fast-3.12", "fast-3.13", "simulate", "crash", "fuzz"]


def test_a_form_that_is_asked_for_takes_the_place_of_a_groups_own() -> None:
    assert _parsed("crash")[0] == [("crash", "compiled"), ("crash", "pure")]
    assert _parsed("crash", "probes", "--form", "pure")[0] == [("crash", "pure"), ("probes", "pure")]


def test_coverage_is_of_the_pure_form_alone() -> None:
    assert any(group.is_measured for group in runner._parse(["fast"])[0])
    assert not any(group.is_measured for group in runner._parse(["fast", "--form", "compiled"])[0])


def test_an_unknown_group_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as stopped:
        runner._parse(["slow"])
    assert stopped.value.code == 2


def test_a_python_that_is_not_there_is_named() -> None:
    with pytest.raises(CannotRun, match=r"there is no Python 3\.99"):
        runner._find_python("3.99")


_COVERAGE = """
import sys
if "report" in sys.argv:
    print("broker/app.py  10  1  4  1  85.7%  7->9\\nTOTAL  10  1  4  1  85.7%")
    sys.exit({status})
"""


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Group]:
    """measured(status): a group in whose environment `python -m coverage report` ends with `status`."""
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "UNTESTED", tmp_path / ".cache" / "coverage" / "untested.txt")

    def make(status: int) -> Group:
        python = tmp_path / "environment" / "bin" / "python"
        python.parent.mkdir(parents=True)
        program = tmp_path / "coverage_report.py"
        program.write_text(_COVERAGE.format(status=status))
        python.write_text(f'#!/bin/sh\nexec {PYTHON} {program} "$@"\n')
        python.chmod(0o755)
        return Group("measured", 60, ("tests",), venv="environment", is_measured=True)

    return make


@pytest.mark.parametrize("arguments", [[], list(runner.NOT_LONG)])
def test_all_tests_of_a_measured_group_end_with_their_coverage(
    measured: Callable[[int], Group], capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    row = runner._run(measured(0), arguments)
    assert (row.outcome, row.coverage, row.is_good) == ("ran", "85.7%", True)
    assert "7->9" in runner.UNTESTED.read_text()

    runner._print_table([row])
    printed = capsys.readouterr().out
    assert "coverage 85.7%; what no test reached, by file: .cache/coverage/untested.txt" in printed
    assert "ran, coverage 85.7%" in printed


@pytest.mark.parametrize(("status", "why"), [(2, "coverage below its floor"), (1, "its coverage could not be told")])
def test_coverage_below_the_floor_is_a_failure(measured: Callable[[int], Group], status: int, why: str) -> None:
    row = runner._run(measured(status), [])
    assert (row.outcome, row.failed, row.is_good) == (f"FAILED: {why}", 1, False)


def test_coverage_of_some_tests_is_not_measured(measured: Callable[[int], Group]) -> None:
    row = runner._run(measured(2), ["-k", "produce"])
    assert (row.outcome, row.coverage) == ("ran", "")


def test_coverage_of_a_run_with_failures_is_not_compared(
    measured: Callable[[int], Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_run_within", lambda command, timeout_s: 1)
    row = runner._run(measured(2), [])
    assert (row.outcome, row.coverage) == ("FAILED", "")


def test_coverage_is_measured_on_one_python() -> None:
    assert [group.name for group in runner.GROUPS["fast"] if group.is_measured] == ["fast-3.13"]


def test_coverage_names_folders_not_links() -> None:
    folders = tomllib.loads((runner.ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["source_dirs"]
    links = {path.resolve().name for path in (runner.ROOT / "barnabas").iterdir() if path.is_symlink()}
    assert set(folders) == {"barnabas", "pyspark_barnabas", *links}

"""scripts/release refuses what cannot be released, and .github/workflows/release.yml publishes nothing but tags."""

import re
import shlex
import tomllib
from typing import Any

import pytest
import yaml

from scripts.releasing.__main__ import _parse
from scripts.releasing.building import archived_pyproject, version
from scripts.releasing.process import NoRelease, run
from scripts.releasing.refusing import refuse
from tests.support.source_tree import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
JOBS: dict[str, Any] = WORKFLOW["jobs"]
DATED = "# Changelog\n\n## 1.2.0 (2026-12-01)\n\n## 1.1.0 (2026-11-01)\n"
OPEN = DATED.replace("2026-12-01", "unreleased")


@pytest.mark.parametrize(("changelog", "tag"), [(DATED, "v1.2.0"), (DATED, ""), (OPEN, "")])
def test_a_committed_version_with_its_notes_can_be_released(changelog: str, tag: str) -> None:
    refuse("1.2.0", changelog, tag, "")


@pytest.mark.parametrize(
    ("version", "changelog", "tag", "status", "why"),
    [
        ("1.2.0", DATED, "", " M README.md\n", "README.md is not committed; a release is built from a commit"),
        ("1.2.0", DATED, "", "?? a\n M b\n", "a and 1 more is not committed; a release is built from a commit"),
        ("1.2.0", DATED, "v1.3.0", "", "the tag v1.3.0 is not v1.2.0, the version in pyproject.toml"),
        ("1.3.0", DATED, "", "", "CHANGELOG.md has no heading `## 1.3.0`"),
        ("1.2", DATED, "", "", "CHANGELOG.md has no heading `## 1.2`"),
        (
            "1.2.0",
            OPEN,
            "v1.2.0",
            "",
            "the heading of 1.2.0 in CHANGELOG.md has no date, as in `## 1.2.0 (2026-12-01)`",
        ),
    ],
)
def test_no_release_is_made_of_it(version: str, changelog: str, tag: str, status: str, why: str) -> None:
    with pytest.raises(NoRelease, match=f"^{re.escape(why)}$"):
        refuse(version, changelog, tag, status)


def test_a_tool_that_fails_is_named_with_its_output() -> None:
    with pytest.raises(NoRelease, match=r"^`sh -c 'echo why >&2; exit 3'` ended with status 3:\nwhy$"):
        run("sh", "-c", "echo why >&2; exit 3")


def test_tools_see_no_settings_of_barnabas_kafka_or_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BARNABAS_FORM", "KAFKA_NODE_ID", "PYTHONPATH"):
        monkeypatch.setenv(name, "1")
    names = {line.partition("=")[0] for line in run("env", GIVEN="2").splitlines()}
    assert names >= {"GIVEN", "PATH"}
    assert not {name for name in names if name.startswith(("BARNABAS", "KAFKA", "PYTHON"))}


def test_the_archive_of_the_spark_side_describes_itself_without_hooks() -> None:
    in_tree = tomllib.loads((ROOT / "pyspark_barnabas" / "pyproject.toml").read_text())
    archived = tomllib.loads(archived_pyproject((ROOT / "pyspark_barnabas" / "pyproject.toml").read_text(), "1.2.0"))
    assert archived["project"].pop("version") == "1.2.0"
    assert in_tree["project"].pop("dynamic") == ["version"]
    assert archived["project"] == in_tree["project"]
    assert archived["build-system"] == in_tree["build-system"]
    assert archived["tool"]["hatch"]["build"]["targets"] == {"wheel": {"packages": ["pyspark_barnabas"]}}


def test_the_workflow_starts_with_a_tag_of_a_version_or_by_hand() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}  # YAML reads `on` so


def test_only_a_tag_is_published_and_only_when_all_is_built() -> None:
    publishing = {name for name in JOBS if name.startswith("publish-")}
    building = set(JOBS) - publishing
    assert publishing == {name for name, job in JOBS.items() if job.get("if") == "github.ref_type == 'tag'"}
    assert all(set(JOBS[name]["needs"]) == building for name in publishing)
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {name for name, job in JOBS.items() if "permissions" in job} == {"publish-files"}
    steps = [step for name in building for step in JOBS[name]["steps"] if "secrets." in str(step)]
    assert [step["if"] for step in steps] == ["github.ref_type == 'tag'"]


@pytest.mark.parametrize("tag", ["", f"v{version(ROOT)}"])
def test_the_workflow_builds_by_the_script(tag: str) -> None:
    (command,) = (step["run"] for step in JOBS["files"]["steps"] if "run" in step)
    typed = re.sub(r"\$\{\{.*\}\}", f"--tag {tag}" if tag else "", command)
    program, *arguments = shlex.split(typed)
    options = _parse(arguments)
    assert (ROOT / program).is_file()
    assert (options.tag, options.pure, str(options.directory)) == (tag, True, "release")


def test_every_architecture_of_the_compiled_wheels_has_a_runner() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    runners = JOBS["wheels"]["strategy"]["matrix"]["os"]
    assert len(runners) == sum(len(wanted[system]["archs"]) for system in ("linux", "macos"))

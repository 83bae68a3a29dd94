"""The documents say what is so: every place they name is there, and the index of decisions is whole."""

import re
import stat
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, tracked_files

DOCUMENTS = [ROOT / path for path in tracked_files() if path.suffix == ".md"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
TOPS = {path.parts[0] for path in tracked_files() if len(path.parts) > 1}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    here = [target for target in targets if "://" not in target]
    assert [target for target in here if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_places_in_the_tree_that_are_named_are_there(document: Path) -> None:
    """`broker/api/table.py` in backticks is a promise; a pattern with a star is kept by any match."""
    named = re.findall(r"`([\w.*-]+(?:/[\w.*-]+)*/?)`", document.read_text(encoding="utf-8"))
    places = [name for name in named if "/" in name and name.partition("/")[0] in TOPS]
    assert [name for name in places if not any(ROOT.glob(name.rstrip("/")))] == []


def test_the_index_of_decisions_is_whole() -> None:
    titles = {path.name: path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in DECISIONS}
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")

    assert re.findall(r"^- \[(.*)\]\((.*)\)$", index, re.MULTILINE) == [(titles[name], name) for name in sorted(titles)]
    assert [name for name, title in titles.items() if not title.startswith(f"{name[:4]}. ")] == []
    assert len({name[:4] for name in titles}) == len(titles)


def test_the_commands_at_the_top_of_the_readme_can_be_run() -> None:
    top = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[1]
    commands = re.findall(r"^    (\S+)", top, re.MULTILINE)
    assert commands == ["./scripts/serve", "./scripts/test"]
    assert all((ROOT / command).stat().st_mode & stat.S_IXUSR for command in commands)


def test_the_contributors_are_told_of_every_group() -> None:
    from scripts._run_tests import GROUPS

    told = re.findall(r"^\| ([\w-]+) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(told) - {"group"}) == sorted(GROUPS)

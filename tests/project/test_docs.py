"""The documents say what is so: every place they name is there, and the index of decisions is whole."""

import re
import stat
from pathlib import Path

import pytest

from docs.generate.decisions import folded
from tests.support.source_tree import ROOT, tracked_files

DOCUMENTS = [ROOT / path for path in tracked_files() if path.suffix == ".md"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
TOPS = {path.parts[0] for path in tracked_files() if len(path.parts) > 1}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    assert [str(place) for place, _ in _links(document) if not place.exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_into_a_page_lead_to_a_heading(document: Path) -> None:
    inside = [(place, anchor) for place, anchor in _links(document) if anchor and place.suffix == ".md"]
    assert [f"{place}#{anchor}" for place, anchor in inside if anchor not in _anchors(place)] == []


def test_every_page_is_reached_from_the_front_page() -> None:
    front = ROOT / "docs" / "README.md"
    reached, unread = {front}, [front]
    while unread:
        for place, _ in _links(unread.pop()):
            if place.suffix == ".md" and place not in reached:
                reached.add(place)
                unread.append(place)
    pages = {path for path in DOCUMENTS if path.is_relative_to(ROOT / "docs")}
    assert sorted(str(path) for path in pages - reached) == []
    assert front in {place for place, _ in _links(ROOT / "README.md")}


def _links(document: Path) -> list[tuple[Path, str]]:
    """The files that a document links to, with the heading after the #."""
    targets = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", document.read_text(encoding="utf-8"))
    targets += re.findall(r"^\[[^]]+\]: ([^#\s]*)(?:#(\S+))?$", document.read_text(encoding="utf-8"), re.MULTILINE)
    here = [(path, anchor) for path, anchor in targets if "://" not in path]
    return [((document.parent / path).resolve() if path else document, anchor) for path, anchor in here]


def _anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_places_in_the_tree_that_are_named_are_there(document: Path) -> None:
    """`broker/api/api_table.py` in backticks is a promise; a pattern with a star is kept by any match."""
    named = re.findall(r"`([\w.*-]+(?:/[\w.*-]+)*/?)`", document.read_text(encoding="utf-8"))
    places = [name for name in named if "/" in name and name.partition("/")[0] in TOPS]
    assert [name for name in places if not any(ROOT.glob(name.rstrip("/")))] == []


def test_the_index_of_decisions_is_whole() -> None:
    titles = {path.name: path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in DECISIONS}
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")

    assert re.findall(r"^- \[(.*)\]\((.*)\)$", index, re.MULTILINE) == [(titles[name], name) for name in sorted(titles)]
    assert [name for name, title in titles.items() if not title.startswith(f"{name[:4]}. ")] == []
    assert len({name[:4] for name in titles}) == len(titles)


def test_there_are_few_decisions() -> None:
    """A page is for a choice that would otherwise be made again. Fold another before you add one beyond these."""
    assert len(DECISIONS) <= 45


def test_a_number_leads_to_a_page_or_to_the_place_where_the_decision_is_now() -> None:
    """The links in the table are held by the tests of all links; a number is never used again."""
    rows = re.findall(r"^\| (\d{4}) \|", _text("docs/decisions/README.md"), re.MULTILINE)
    assert rows == sorted(folded())
    assert {path.name[:4] for path in DECISIONS} & folded().keys() == set()
    named = {
        (str(path), number)
        for path in tracked_files()
        if path.suffix in (".py", ".md", ".toml", ".txt") and path.parts[-2:-1] != ("decisions",)
        for number in re.findall(r"\b[Dd]ecisions?[ /](\d{4})\b", _text(path))
    }
    assert sorted(each for each in named if not list(DECISIONS[0].parent.glob(f"{each[1]}-*.md"))) == []


def test_the_commands_at_the_top_of_the_readme_can_be_run() -> None:
    top = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[1]
    commands = re.findall(r"^    (\S+)", top, re.MULTILINE)
    assert commands == ["./scripts/serve", "./scripts/test"]
    assert all((ROOT / command).stat().st_mode & stat.S_IXUSR for command in commands)


def test_the_contributors_are_told_of_every_group() -> None:
    from scripts.testing.__main__ import NAMES

    told = re.findall(r"^\| ([\w-]+) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(told) - {"group"}) == sorted(NAMES)


def test_the_number_of_recorded_requests_is_written_in_one_place() -> None:
    """docs/differences.md, which is generated, has it; a copy elsewhere would not be kept up to date."""
    [number] = re.findall(r"(\d+) requests, valid and invalid", _text("docs/differences.md"))
    spellings = {number, f"{int(number):,}"}
    others = [path for path in DOCUMENTS if path != ROOT / "docs" / "differences.md"]
    copies = [path for path in others if any(f"{spelling} requests" in _text(path) for spelling in spellings)]
    assert [str(path.relative_to(ROOT)) for path in copies] == []


def test_the_page_of_apis_counts_them() -> None:
    from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE

    page = _text("docs/apis.md")
    assert f"{len(API_TABLE)} APIs" in page
    assert len(re.findall(r"^\| \d+ \|", page, re.MULTILINE)) == len(API_TABLE) + len(TELEMETRY_TABLE)


def test_all_that_kafka_offers_is_offered() -> None:
    """tests/protocol/test_captured_frames.py holds the keys and their versions against what Kafka says."""
    from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE
    from barnabas.protocol.registry import ApiKey

    assert sorted(row.key for row in (*API_TABLE, *TELEMETRY_TABLE)) == sorted(ApiKey)
    ranges = {row.key: (row.min_version, row.advertised_min_version, row.max_version) for row in API_TABLE}
    del ranges[ApiKey.PRODUCE]  # advertised below what is answered, for old clients
    assert ranges == {key: (key.advertised_min_version,) * 2 + (key.max_version,) for key in ranges}


def _text(path: str | Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")

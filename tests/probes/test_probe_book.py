"""Barnabas answers the requests of the probe book as Apache Kafka did, field by field, or a decision says why not.

The book (tests/golden/probes) holds what Apache Kafka answered, so no JVM is needed here. `--record kafka` starts one,
asks it everything anew and writes the pages.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE
from docs.generate.decisions import place
from docs.generate.differences import with_tables
from docs.generate.pages import DIFFERENCES, DOCS
from tests.support.probes.askers import NOBODY, name_of
from tests.support.probes.book import BOOK, OFFERED, SHORT
from tests.support.probes.differences import Found, found
from tests.support.probes.page import Page, pages, read
from tests.support.probes.recording import record
from tests.support.probes.servers import answers_of_barnabas

ALL = [pytest.param(page, id=page.name, marks=[pytest.mark.long] if page.is_long else []) for page in BOOK]
AT_LEAST = 400
Differing = Callable[[Page], list[Found]]


@pytest.fixture(scope="module")
def differing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Differing:
    """What differs on a page, which is played once."""
    seen: dict[str, list[Found]] = {}

    def play(page: Page) -> list[Found]:
        if page.name not in seen:
            directory = tmp_path_factory.mktemp(page.name)
            if request.config.getoption("--record") == "kafka":
                record(page.path, directory / "kafka")
            read_again = read(page.path)
            seen[page.name] = list(found(read_again, answers_of_barnabas(read_again, directory / "barnabas")))
        return seen[page.name]

    return play


@pytest.mark.parametrize("page", ALL)
def test_an_answer_is_kafkas_or_a_decision_says_why_not(page: Page, differing: Differing) -> None:
    unexplained = [str(each) for each in differing(page) if not each.step.decision]
    assert not unexplained, "\n".join(unexplained)


@pytest.mark.parametrize("page", ALL)
def test_what_is_said_to_differ_differs(page: Page, differing: Differing) -> None:
    assert [str(each) for each in differing(page) if not each.differences] == []


@pytest.mark.parametrize("page", BOOK, ids=lambda page: page.name)
def test_a_page_is_written_as_it_is_read(page: Page) -> None:
    assert page.text() == page.path.read_text(encoding="utf-8")


def test_the_page_in_docs_has_the_tables_that_the_book_makes(differing: Differing) -> None:
    """`python -m docs.generate differences.md` brings it up to date."""
    written = (DOCS / DIFFERENCES).read_text(encoding="utf-8")
    assert written == with_tables(written, BOOK, [each for page in SHORT for each in differing(page)])


def test_every_api_is_asked_in_every_version_that_is_offered() -> None:
    asked = set().union(*(page.asked for page in BOOK))
    assert sorted(OFFERED - asked) == []


def test_every_api_is_asked_with_each_of_its_rights() -> None:
    asked: dict[str, set[str]] = {}
    for page in pages():
        for step in (step for story in page.stories for step in story.steps if step.kind == "ask"):
            asked.setdefault(step.api, set()).update(step.askers)
    rows = {row.key.api_name: row.accesses for row in (*API_TABLE, *TELEMETRY_TABLE) if row.accesses}
    missing = {api: {NOBODY, *map(name_of, accesses)} - asked.get(api, set()) for api, accesses in rows.items()}
    assert {api: each for api, each in missing.items() if each} == {}


def test_there_are_many_requests_and_kafka_was_asked_each() -> None:
    steps = [step for page in BOOK for story in page.stories for step in story.steps]
    assert sum(len(step.versions) for step in steps if step.kind == "ask") >= AT_LEAST
    assert [step.lines[0] for step in steps if step.kind == "send" and not step.answers] == []


@pytest.mark.parametrize("page", BOOK, ids=lambda page: page.name)
def test_a_story_has_a_title_of_its_own(page: Page) -> None:
    titles = Counter(story.title for story in page.stories)
    assert [title for title, count in titles.items() if count > 1] == []


def test_the_decisions_that_are_named_are_there() -> None:
    named = {step.decision for page in BOOK for story in page.stories for step in story.steps if step.decision}
    assert all(place(decision) for decision in named)

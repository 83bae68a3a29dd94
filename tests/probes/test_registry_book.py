"""The schema registry answers the requests of its probe book (tests/golden/registry) as is right.

What is right is Confluent's: its documentation and the tests of its server. Apicurio Registry's answers stand beside it
where they differ, each with a reason. `--record apicurio` asks Apicurio anew and writes its answers.
"""

from pathlib import Path

import pytest

from tests.support.registry.pages import RestPage, pages, read_page
from tests.support.registry.playing import RegistryAsker
from tests.support.registry.recording import record
from tests.support.registry.servers import RegistryBroker

_BOOK = pages()
AT_LEAST = 250


@pytest.fixture(scope="module")
def wrong(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What one registry answers otherwise, by page; the page of the new registry is played first."""
    directory = tmp_path_factory.mktemp("registry")
    if request.config.getoption("--record") == "apicurio":
        record(_BOOK, directory / "apicurio")
    with RegistryBroker(directory / "data") as broker:
        asker = RegistryAsker(broker.registry_url)
        try:
            wrong = {page.name: [str(each) for each in asker.play(page)] for page in _BOOK}
        finally:
            asker.close()
        assert "Traceback" not in broker.log, broker.log
    return wrong


@pytest.mark.parametrize("page", _BOOK, ids=lambda page: page.name)
def test_an_answer_is_right(page: RestPage, wrong: dict[str, list[str]]) -> None:
    assert not wrong[page.name], "\n".join(wrong[page.name])


@pytest.mark.parametrize("page", _BOOK, ids=lambda page: page.name)
def test_a_page_is_written_as_it_is_read(page: RestPage) -> None:
    assert page.text() == page.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", _BOOK, ids=lambda page: page.name)
def test_every_request_has_an_answer_and_every_other_answer_of_apicurio_a_reason(page: RestPage) -> None:
    steps = [(story, step) for story in page.stories for step in story.steps]
    assert [step.path for _, step in steps if step.right is None] == []
    assert [step.path for story, step in steps if step.apicurios and not (step.why or story.why)] == []


def test_there_are_many_requests() -> None:
    assert sum(len(story.steps) for page in _BOOK for story in page.stories) >= AT_LEAST


@pytest.mark.parametrize("line", ["FETCH /subjects", "< two hundred", "Subjects: all", "> {}"])
def test_what_is_no_page_of_the_registry_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    path.write_text(f"## a story\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.txt:2: "):
        read_page(path)

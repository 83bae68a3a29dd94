"""Answers that are kept for requests that repeat them: only while they are true, and few."""

import pytest

from barnabas.broker.http.pages import Page
from barnabas.broker.http.registry.known_answers import ANSWER_BYTES_MAX, KEPT_MAX, KnownAnswers
from barnabas.broker.http.registry.schemas_topic import SchemasTopic
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.schemas.languages import parse
from tests.support.registry_api import RegistryApi
from tests.support.worlds.broker import BrokerWorld

PAGE = Page(200, b"{}")


class Kept:
    """The answers of a registry over a broker's topic."""

    def __init__(self) -> None:
        self.services = BrokerWorld().broker.services
        self.topic = SchemasTopic(self.services)
        self.registry = SchemaRegistry(self.topic, parse, RegistryApi())
        self.answers = KnownAnswers(self.registry, self.topic)

    def keep(self, method: str = "GET", target: bytes = b"/x", page: Page = PAGE) -> None:
        self.answers.get(method, target, [])
        self.answers.keep(method, target, [], self.registry.state.revision, page)


@pytest.fixture
async def kept() -> Kept:
    return Kept()


async def test_an_answer_is_given_again_to_the_same_request(kept: Kept) -> None:
    kept.keep()
    assert kept.answers.get("GET", b"/x", []) is PAGE
    assert kept.answers.get("GET", b"/y", []) is None
    assert kept.answers.get("GET", b"/x", [(b"accept", b"application/json")]) is None
    assert kept.answers.get("DELETE", b"/x", []) is None


async def test_a_change_makes_answers_untrue(kept: Kept) -> None:
    kept.keep()
    await kept.registry.change(lambda state: (None, []))
    assert kept.answers.get("GET", b"/x", []) is PAGE
    kept.registry.state.revision += 1
    assert kept.answers.get("GET", b"/x", []) is None
    kept.answers.keep("GET", b"/x", [], kept.registry.state.revision - 1, PAGE)
    assert kept.answers.get("GET", b"/x", []) is None


async def test_nothing_is_given_while_there_are_records_that_are_not_applied(kept: Kept) -> None:
    kept.keep()
    SchemasTopic(kept.services).append([(b"k", b"v")])
    assert kept.answers.get("GET", b"/x", []) is None


@pytest.mark.parametrize(
    ("method", "page"), [("POST", PAGE), ("GET", Page(404, b"")), ("GET", Page(200, bytes(ANSWER_BYTES_MAX + 1)))]
)
async def test_some_answers_are_not_kept(kept: Kept, method: str, page: Page) -> None:
    kept.keep(method, page=page)
    assert kept.answers.get("GET", b"/x", []) is None


async def test_answers_are_few(kept: Kept) -> None:
    for number in range(KEPT_MAX + 1):
        kept.keep(target=b"/%d" % number)
    assert kept.answers.get("GET", b"/0", []) is None
    assert kept.answers.get("GET", b"/%d" % KEPT_MAX, []) is PAGE

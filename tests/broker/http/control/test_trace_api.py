"""/control/trace over a whole broker in memory: the past as JSON, the rest as server-sent events."""

import json
from collections.abc import AsyncIterator
from typing import Any

import jsonschema
import pytest

from barnabas.broker.http.asgi import HttpRequest, Mounted, asgi
from barnabas.broker.http.control import trace_api as trace_room_module
from barnabas.broker.http.control.admission import Admission
from barnabas.broker.http.control.application import application
from barnabas.broker.http.control.openapi import document
from barnabas.broker.http.control.trace_api import trace_routes
from barnabas.broker.http.pages import Page, StreamedPage
from tests.support.requests import init_producer
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.told import Asking

DOCUMENT = document()
PEER = "127.0.0.1", 1


class Traced:
    """A broker, a client of it, and who asks for its trace."""

    def __init__(self) -> None:
        self.world = BrokerWorld()
        history = self.world.broker.history
        history.get()
        self.client = Asking(self.world)
        self._mounted = Mounted(b"/control", asgi(application([trace_routes(history.get)], Admission())), 1_000)

    async def ask(self, query: str = "", **headers: str) -> Page | StreamedPage:
        sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        target = b"/control/trace" + (f"?{query}".encode() if query else b"")
        return await self._mounted.answer(HttpRequest("GET", target, [(b"host", b"localhost"), *sent], b"", PEER))

    async def page(self, query: str = "") -> tuple[int, Any]:
        page = await self.ask(query)
        assert isinstance(page, Page)
        found = json.loads(page.body)
        told = DOCUMENT["paths"]["/control/trace"]["get"]["responses"][str(page.status)]
        schema = told["content"]["application/json"]["schema"]
        jsonschema.validate(found, {**schema, "components": DOCUMENT["components"]}, jsonschema.Draft202012Validator)
        return page.status, found

    async def follow(self, query: str = "", **headers: str) -> AsyncIterator[str]:
        stream = await self.ask(query, accept="text/event-stream", **headers)
        assert isinstance(stream, StreamedPage)
        assert stream.content_type.startswith("text/event-stream")
        return (chunk.decode() async for chunk in stream.chunks)

    async def init(self, transactional_id: str) -> None:
        await self.client.ask(init_producer(transactional_id), 4)


@pytest.fixture
async def traced() -> AsyncIterator[Traced]:
    traced = Traced()
    yield traced
    await traced.world.close()


async def test_the_past_is_reported_in_pages(traced: Traced) -> None:
    await traced.init("x")
    await traced.init("y")
    status, found = await traced.page("transactional_id=y&kind=producer,request")
    assert status == 200
    assert [event["kind"] for event in found["events"]] == ["producer.id_given", "request.answered"]
    assert found["events"][0]["cause"]["client_id"] == "test"
    _, first = await traced.page("from=1&limit=2")
    assert [event["number"] for event in first["events"]] == [1, 2]
    _, second = await traced.page(f"from={first['next']}&limit=1")
    assert [event["number"] for event in second["events"]] == [3]
    _, last = await traced.page("limit=1")
    assert last["events"][0]["number"] == last["next"] - 1


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("kind=nothing", "no kind of event is called 'nothing' or begins with it: there are request.answered, "),
        ("from=soon", "from=soon is not a number of 0 or more"),
        ("producer_id=1e3", "producer_id=1e3 is not a number of 0 or more"),
        ("colour=red", "'colour' is not a parameter here: there are kind, "),
        ("requests=some", "requests=some is invalid: the only value is all"),
    ],
)
async def test_invalid_input_is_refused_in_a_sentence(traced: Traced, query: str, why: str) -> None:
    status, found = await traced.page(query)
    assert status == 400
    assert found["error"].startswith(why)


async def test_a_follower_receives_numbered_events(traced: Traced) -> None:
    await traced.init("x")
    chunks = await traced.follow("kind=producer.id_given")
    assert (await anext(chunks)).startswith(": ")
    await traced.init("y")
    number, kind, data = (await anext(chunks)).strip().split("\n")
    told = json.loads(data.removeprefix("data: "))
    assert number == f"id: {told['number']}"
    assert (kind, told["facts"]["transactional_id"]) == ("event: producer.id_given", "y")


async def test_a_resumed_follower_continues_behind_its_last_event(traced: Traced) -> None:
    await traced.init("x")
    await traced.init("y")
    chunks = await traced.follow("kind=producer.id_given", last_event_id="1")
    await anext(chunks)
    assert '"transactional_id":"x"' in await anext(chunks)
    await traced.init("z")
    assert '"transactional_id":"z"' in await anext(chunks)


@pytest.mark.pure  # FOLLOWED_MAX is replaced
async def test_quiet_followers_get_a_heartbeat_and_slow_ones_a_notice(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_room_module, "KEEP_ALIVE_S", 0.01)
    chunks = await traced.follow()
    await anext(chunks)
    assert await anext(chunks) == ": still here\n\n"
    monkeypatch.setattr("barnabas.broker.insight.history.history.FOLLOWED_MAX", 2)
    await traced.init("x")
    assert (await anext(chunks)).startswith('event: lost\ndata: {"count":')

"""A request passes the stages that are on, in the order of the tables, and pays for no other."""

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.api import pipeline
from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.api.frame_handler import FrameHandler
from barnabas.broker.api.pipeline import FRAME_STAGES, MESSAGE_STAGES, Stage
from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.metadata.image.client_quotas import QuotaAlteration
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, settle

FRAMES = [stage.name for stage in FRAME_STAGES]
MESSAGES = [stage.name for stage in MESSAGE_STAGES]
PRODUCE_VERSION, FETCH_VERSION = 12, 12
NOT_HOT = ("traced answers", "produce fast path", "fetch limit")


class Passed:
    """A broker with a meter that notes which stages each request passes, and what stands innermost of each kind."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str] | None = None) -> None:
        self.stages: list[str] = []
        monkeypatch.setattr(pipeline, "FRAME_STAGES", tuple(map(self._noted, FRAME_STAGES)))
        monkeypatch.setattr(pipeline, "MESSAGE_STAGES", tuple(map(self._noted, MESSAGE_STAGES)))
        self.world = BrokerWorld(settings)
        self.world.services.catalogue.create_topic("t")
        self.world.dispatcher = Dispatcher(self.world.services, meter=Meter(lambda: 0))
        self.peer = self.world.connect()

    def _noted(self, stage: Stage[Any]) -> Stage[Any]:
        def wrap(parts: Any, api: Any, version: int, handler: Any) -> Any:
            return self._noting(stage.name, stage.wrap(parts, api, version, handler))

        return stage._replace(wrap=wrap)

    def _noting(self, name: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        def handle(*args: Any) -> Any:
            self.stages.append(name)
            return handler(*args)

        return handle

    async def by(self, request: Request, version: int | None = None) -> list[str]:
        self.stages.clear()
        self.peer.ask(request, version)
        await settle()
        return list(self.stages)

    async def by_each(self) -> tuple[list[str], list[str], list[str]]:
        """What a Produce passes that is not for the fast path, a Fetch, and any other request."""
        batch = memoryview(self.world.batch(b"x"))
        produced = await self.by(requests.produce(batch, "t", acks=0), PRODUCE_VERSION)
        fetched = await self.by(requests.fetch(wait_ms=0), FETCH_VERSION)
        return produced, fetched, await self.by(ListGroupsRequest())

    def limit(self, value: float | None) -> None:
        wish = QuotaAlteration({"client-id": "test"}, [("request_percentage", value)])
        ((_, refusal),) = self.world.services.catalogue.client_quotas.alter([wish], validate_only=False)
        assert refusal is None


def _itself(api_key: int, version: int, handler: FrameHandler) -> FrameHandler:
    return handler


def _hear(*_: Any) -> None:
    """Listen to events."""


def test_the_docstring_lists_the_stages_in_their_order() -> None:
    assert pipeline.__doc__ is not None
    listed = [line[2:].partition(":")[0] for line in pipeline.__doc__.splitlines() if line.startswith("- ")]
    assert listed == [*FRAMES, *MESSAGES]


async def test_with_everything_on_a_request_passes_the_stages_in_this_order(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = Passed(monkeypatch, {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"})
    passed.limit(50.0)
    passed.world.dispatcher.intercept(_itself)
    passed.world.broker.events.listen(_hear, all_requests=True)
    produced, fetched, other = await passed.by_each()
    every = [*FRAMES, *MESSAGES]
    assert produced == [name for name in every if name != "fetch limit"]
    assert fetched == [name for name in every if name not in ("produce fast path", "cause")]
    assert other == [name for name in every if name not in NOT_HOT]
    assert {*produced, *fetched} == set(every)


async def test_the_fast_path_is_the_end_of_the_requests_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = Passed(monkeypatch)
    passed.world.broker.events.listen(_hear)
    request = requests.produce(memoryview(passed.world.batch(b"x")), "t")
    assert await passed.by(request, PRODUCE_VERSION) == ["metrics", "produce fast path", "cause"]  # opens the log
    assert await passed.by(request, PRODUCE_VERSION) == ["metrics", "produce fast path"]


async def test_a_stage_is_there_from_its_switch_on_to_its_switch_off(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = Passed(monkeypatch)
    plain = (["metrics", "produce fast path"], ["metrics"], ["metrics"])
    assert await passed.by_each() == plain
    events = passed.world.broker.events
    switches: list[tuple[Callable[[], None], Callable[[], None], tuple[list[str], list[str], list[str]]]] = [
        (
            lambda: passed.limit(50.0),
            lambda: passed.limit(None),
            (
                ["throttling", *plain[0]],
                ["throttling", "metrics", "fetch limit"],
                ["throttling", "metrics"],
            ),
        ),
        (
            lambda: passed.world.dispatcher.intercept(_itself),
            lambda: passed.world.dispatcher.intercept(None),
            (["faults", *plain[0]], ["faults", "metrics"], ["faults", "metrics"]),
        ),
        (
            lambda: events.listen(_hear),
            lambda: events.stop_listening(_hear),
            ([*plain[0], "cause"], ["metrics"], ["metrics", "cause"]),
        ),
        (
            lambda: events.listen(_hear, all_requests=True),
            lambda: events.stop_listening(_hear),
            (
                ["metrics", "traced answers", "produce fast path", "cause"],
                ["metrics", "traced answers"],
                ["metrics", "cause"],
            ),
        ),
    ]
    for switch_on, switch_off, stages in switches:
        switch_on()
        assert await passed.by_each() == stages
        switch_off()
        assert await passed.by_each() == plain

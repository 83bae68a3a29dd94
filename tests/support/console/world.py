"""The console over a whole broker in memory, called through httpx."""

import re
from typing import Any
from urllib.parse import urlencode

import httpx

from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.http.console.application import application
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.traffic import Traffic
from barnabas.broker.http.control.admission import Admission
from barnabas.broker.insight.why.sources.armed_faults import ArmedFaults
from barnabas.broker.insight.why.sources.registry_source import RegistrySource, no_registry
from barnabas.broker.insight.why.sources.trace_history import TraceHistory
from barnabas.broker.insight.why.why import Why
from tests.support.inspected_broker import Inspected
from tests.support.worlds.broker import BrokerWorld


class Console:
    """Pages as text, and actions on them."""

    def __init__(
        self,
        world: BrokerWorld,
        admission: Admission | None = None,
        *,
        may_change: bool = True,
        is_local: bool = True,
        registry: RegistrySource = no_registry,
    ) -> None:
        self.world = world
        broker = world.broker
        asked = world.services, broker.members, broker.time_control, broker.faults
        told = broker.unready_reason, lambda: ["something"]
        history = broker.history.get() if may_change else None
        known = None if history is None else (TraceHistory(history), ArmedFaults(broker.faults), registry)
        why = None if known is None else Why(world.services, *known)
        self.meter = Meter(lambda: 0)
        traffic = Traffic(world.services, self.meter, world.machine_clock)
        observed = ConsoleContext(
            *asked, *told, world.machine_clock, may_change, traffic, history=history, why=why, registry=registry
        )
        self.app: Any = application(observed, admission or Admission())

        async def mounted(scope: Any, receive: Any, send: Any) -> None:
            scope["barnabas.peer_is_local"] = is_local
            await self.app(scope, receive, send)

        transport = httpx.ASGITransport(mounted)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://localhost:49153")

    async def get(self, path: str, status: int = 200, /, **query: Any) -> str:
        """The page's HTML."""
        answer = await self.client.get(f"/console{path}", params=query)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        return answer.text

    async def text(self, path: str, status: int = 200, /, **query: Any) -> str:
        """What a reader sees of the page, in one line."""
        return seen(await self.get(path, status, **query))

    async def post(self, path: str, status: int, /, **form: Any) -> httpx.Response:
        """The answer to a form."""
        headers = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost:49153"}
        answer = await self.client.post(f"/console{path}", content=urlencode(form), headers=headers)
        assert answer.status_code == status, answer.text
        return answer


def world_of(console: Console) -> Inspected:
    """The broker that it is over, where a test plays clients of it."""
    assert isinstance(console.world, Inspected)
    return console.world


def seen(html: str) -> str:
    """The text of a page, without its marks."""
    body = re.sub(r"<head>.*?</head>|<title>.*?</title>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))

"""The APIs of groups, called as a client calls them: every request and answer goes through its bytes.

Groups live in a `GroupWorld` (virtual time, a log in memory), topics in a real catalogue on a disk in memory.
"""

import asyncio
import importlib
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

from barnabas.broker.api.error_responses import error_response
from barnabas.broker.coordinator.group.decisions.classic.model import GroupConfig
from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.broker.services import Deferred, RequestContext
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.registry import ApiKey, request_codec, response_codec, spec
from tests.support.worlds.catalogue_api import CatalogueApi
from tests.support.worlds.group import GroupWorld


class GroupApi:
    """A broker with groups, and with the topics `t` (3 partitions) and `u` (1)."""

    def __init__(self, config: GroupConfig | None = None) -> None:
        catalogue = CatalogueApi()
        self.catalogue = catalogue.world.catalogue
        self.world = GroupWorld(config)
        for name, partitions in (("t", 3), ("u", 1)):
            topic_id = self.world.topic_ids[name] = self.catalogue.create_topic(name, partitions).topic_id
            self.world.topics.make(name, partitions, topic_id)
        self.services = replace(
            catalogue.services,
            clock=self.world.clock,
            deferred_groups=Deferred(lambda: self.world.coordinator),
            request_scheduler=CooperativeScheduler(self.world.loop, self.world.clock.monotonic, rests=False),
        )

    def close(self) -> None:
        self.world.loop.close()

    def topic_id(self, name: str) -> bytes:
        return self.catalogue.topics[name].topic_id

    def begin(self, request: Request, version: int, client_id: str | None = "c") -> asyncio.Task[Any]:
        """Ask; the task is done when there is an answer."""
        task = self.world.loop.create_task(self._answer(request, version, client_id))
        self.world.settle()
        return task

    def ask(self, request: Request, version: int, client_id: str | None = "c") -> Any:
        """The answer to a request that need not wait."""
        task = self.begin(request, version, client_id)
        self.world.settle()
        while not self.services.request_scheduler.are_over:
            self.world.settle()
        self.world.settle()  # work in slices is answered a turn later
        return task.result()

    async def _answer(self, request: Request, version: int, client_id: str | None) -> Any:
        number = type(request).__schema__.key
        assert number is not None
        key = ApiKey(number)
        decoded, _ = request_codec(key, version).decode(request_codec(key, version).encode(request))
        handler = importlib.import_module(f"barnabas.broker.api.handlers.{key.name.lower()}")
        context = RequestContext(self.services, key, version, client_id=client_id, client_host="10.0.0.9")
        try:
            answer = handler.handle(decoded, context)
            if isinstance(answer, Awaitable):
                answer = await answer
        except KafkaError as error:  # as the dispatcher does
            answer = error_response(spec(key), version, decoded, error.code, error.message)
            assert answer is not None
        codec = response_codec(key, version)
        return codec.decode(codec.encode(answer))[0]

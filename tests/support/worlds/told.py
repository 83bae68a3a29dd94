"""The events of a broker in a world, and a client that sends one request after another."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.broker.runtime.events import Cause, EventKind, Events
from barnabas.protocol.codec.schema import Request
from tests.support.worlds.broker import BrokerWorld, Peer, settle


class Event(NamedTuple):
    """An event that was reported."""

    name: str
    facts: Mapping[str, Any]
    cause: Cause | None


class Told:
    """A listener that remembers everything, and holds nothing up."""

    def __init__(self, events: Events, *, all_requests: bool = False) -> None:
        self.events: list[Event] = []
        self._source = events
        events.listen(self._hear, all_requests=all_requests)

    def stop(self) -> None:
        self._source.stop_listening(self._hear)

    def _hear(self, kind: EventKind, facts: Mapping[str, Any]) -> None:
        assert set(facts) == set(kind.facts), (kind.name, set(facts) ^ set(kind.facts))
        self.events.append(Event(kind.name, facts, self._source.cause))

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.events]

    def of(self, name: str) -> list[Event]:
        return [event for event in self.events if event.name == name]

    def only(self, name: str) -> Event:
        (event,) = self.of(name)
        return event


class Asking:
    """A client of a world."""

    def __init__(self, world: BrokerWorld, peer: Peer | None = None) -> None:
        self.world = world
        self.peer = peer or world.connect()

    async def ask(self, request: Request, version: int) -> Any:
        """The answer, however long it takes."""
        self.peer.ask(request, version)
        await settle()
        if not self.peer.transport.written.is_set():
            await self.peer.until_answered()
        return self.peer.answer()

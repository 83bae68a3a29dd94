"""A client's connections to several nodes: each request goes to the node whose business it is, as with stock clients.

Who leads a partition and who coordinates a group or a transactional id is asked once, and again when a node says that
it is not the one, or does not answer.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from barnabas.protocol.codec.schema import Request, Struct
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import TopicPartition
from tests.simulation.history.topics import topic_id_in
from tests.support.requests import metadata

_GROUP, _TRANSACTION = 0, 1  # kinds of keys that are coordinated
_IS_ELSEWHERE = frozenset(
    {
        E.NOT_LEADER_OR_FOLLOWER,
        E.NOT_COORDINATOR,
        E.COORDINATOR_NOT_AVAILABLE,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.UNKNOWN_TOPIC_ID,
    }
)
_Whose: TypeAlias = tuple[str, str | int]
"""A topic and the number of a partition; or a kind of key, and the key."""


class RoutedWire(Wire):
    """`ports`: of the nodes that are asked first, which know of the others."""

    ports: tuple[int, ...] = ()

    def __init__(self, wires: Iterable[Wire]) -> None:
        """wires: one to each node."""
        self._wires = {wire.port: wire for wire in wires}
        self.ports = tuple(self._wires)
        self._first = 0
        self.arrives_us = 0
        self._known: dict[_Whose, int] = {}
        self.answered_by = 0

    async def ask(self, request: Request, version: int, *, wait_ms: int = 0) -> Any:
        whose = _whose(request)
        port = self.ports[self._first] if whose is None else await self._port_of(whose)
        wire = self._wires[port]
        try:
            answer = await wire.ask(request, version, wait_ms=wait_ms)
        except Disconnected:
            self.arrives_us = wire.arrives_us
            self._forget_all(request, whose)
            raise
        if not _IS_ELSEWHERE.isdisjoint(_codes(answer)):
            self._forget_all(request, whose)
        self.answered_by = port
        return answer

    @property
    def is_connected(self) -> bool:
        return all(wire.is_connected for wire in self._wires.values())

    async def by_node(self, partitions: Iterable[TopicPartition]) -> dict[Wire, list[TopicPartition]]:
        found: dict[Wire, list[TopicPartition]] = {}
        try:
            for at in partitions:
                found.setdefault(self._wires[await self._port_of(_partition(*at))], []).append(at)
        except Disconnected:
            return {}
        return found

    def forget(self, at: TopicPartition) -> None:
        self._known.pop(_partition(*at), None)

    def close(self) -> None:
        for wire in self._wires.values():
            wire.close()

    def open_requests(self) -> Iterator[str]:
        for wire in self._wires.values():
            yield from wire.open_requests()

    def _forget_all(self, request: Any, whose: _Whose | None) -> None:
        """A Fetch asks for several partitions, any of which may be elsewhere now."""
        self._forget(whose)
        if type(request).__name__ == "FetchRequest":
            for topic in request.topics:
                for each in topic.partitions:
                    self._known.pop(_partition(_name_of(topic), each.partition), None)

    def _forget(self, whose: _Whose | None) -> None:
        if whose is not None:
            self._known.pop(whose, None)
        else:
            self._first = (self._first + 1) % len(self.ports)

    async def _port_of(self, whose: _Whose) -> int:
        """The node to ask; any, which refuses, where nobody leads. Disconnected."""
        if whose not in self._known:
            try:
                port = await self._coordinator(whose) if isinstance(whose[1], str) else await self._leader(*whose)
            except Disconnected:
                self._forget(None)
                raise
            if port is None:
                return self.ports[self._first]
            self._known[whose] = port
        return self._known[whose]

    async def _coordinator(self, whose: _Whose) -> int:
        request = FindCoordinatorRequest(key_type=int(whose[0]), coordinator_keys=[str(whose[1])])
        found = (await self._wires[self.ports[self._first]].ask(request, 4)).coordinators[0]
        if found.error_code != E.NONE:
            raise Disconnected(E(found.error_code).name)
        return int(found.port)

    async def _leader(self, topic: str, partition: str | int) -> int | None:
        topic_id = topic_id_in(topic)
        answer = await self._wires[self.ports[self._first]].ask(metadata(topic_id or topic), 12)
        ports = {broker.node_id: broker.port for broker in answer.brokers}
        leaders = {each.partition_index: each.leader_id for each in answer.topics[0].partitions}
        return ports.get(leaders.get(partition))


def _partition(topic: str, partition: int) -> _Whose:
    return topic, partition


def _whose(request: Any) -> _Whose | None:
    """Whose business a request is; None if it is anybody's."""
    kind = type(request).__name__
    if kind == "ProduceRequest":
        return _partition(request.topic_data[0].name, request.topic_data[0].partition_data[0].index)
    if kind == "FetchRequest":
        topic = request.topics[0]
        return _partition(_name_of(topic), topic.partitions[0].partition)
    if kind in ("ListOffsetsRequest", "DeleteRecordsRequest"):
        return _partition(request.topics[0].name, request.topics[0].partitions[0].partition_index)
    if kind == "OffsetFetchRequest":
        return str(_GROUP), request.groups[0].group_id
    if hasattr(request, "group_id") and kind != "AddOffsetsToTxnRequest":
        return str(_GROUP), request.group_id
    transactional_id = getattr(request, "transactional_id", None) or getattr(
        request, "v3_and_below_transactional_id", None
    )
    return None if transactional_id is None else (str(_TRANSACTION), transactional_id)


def _name_of(topic: Any) -> str:
    """Of a topic of a Fetch, as histories have it."""
    return f"#{bytes(topic.topic_id).hex()}" if any(topic.topic_id) else str(topic.topic)


def _codes(value: Any) -> Iterator[int]:
    """All error codes in an answer."""
    if isinstance(value, list):
        for each in value:
            yield from _codes(each)
    elif isinstance(value, Struct):
        for field in value.__schema__.fields:
            found = getattr(value, field.name)
            if field.name.endswith("error_code"):
                yield found
            else:
                yield from _codes(found)

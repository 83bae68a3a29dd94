"""Requests of every API with one list in them that is very long, made from the schemas alone: a new API is among them.

They name topics and groups `t-0`, `t-1` and so on, and within a long inner list the one called WIDE. FIELDS has what a
request needs so that it does something.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from barnabas.broker.api.api_table import API_TABLE
from barnabas.protocol.codec.schema import Field, FieldType, Request, Struct, default_instance
from barnabas.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.registry import ApiKey, spec
from tests.support.worlds.broker import request_frame

WIDE = "wide"
_BATCH = bytes(build_batch([(None, b"v", (), 1)]))
_NUMBERED = ("index", "partition", "partition_id", "partition_index", "partition_indexes", "partitions")
FIELDS: dict[str, Any] = {
    "acks": 1,
    "assignments": [],
    "broker_ids": [1],
    "count": 2,
    "generation_id_or_member_epoch": -1,
    "key_type": 0,
    "num_partitions": 1,
    "operation": 3,
    "pattern_type": 3,
    "permission_type": 3,
    "principal": "User:{}",
    "host": "*",
    "replication_factor": 1,
    "resource_pattern_type": 3,
    "resource_type": 2,
    "timeout_ms": 60_000,
    "AlterableConfig.name": "retention.ms",
    "AlterableConfig.value": "1000",
    "CreatableTopic.name": "new_{}",
    "CreatableTopicConfig.name": "retention.ms",
    "CreatableTopicConfig.value": "1000",
    "DeleteTopicState.topic_id": bytes(16),
    "ReplicaState.replica_id": -1,
    "EntityData.entity_type": "user",
    "OpData.key": "producer_byte_rate",
    "OpData.value": 1000.0,
    "StreamsGroupHeartbeatRequest.active_tasks": [],
    "StreamsGroupHeartbeatRequest.standby_tasks": [],
    "StreamsGroupHeartbeatRequest.warmup_tasks": [],
    "CopartitionGroup.source_topic_regex": [],
    "CopartitionGroup.repartition_source_topics": [],
    "Subtopology.source_topic_regex": [],
    "Subtopology.repartition_sink_topics": [],
    "Subtopology.repartition_source_topics": [],
    "TopicInfo.name": "changelog-{}",
    "TopicInfo.partitions": 0,
}
"""By the field's name, or by its struct's and its own."""


class Ask(NamedTuple):
    """A request, by the list in it that is long, within the one element of the lists around it; or one for all."""

    key: ApiKey
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((self.key.api_name, *self.path))


def asks() -> Iterator[Ask]:
    """One for each list of each request, and one without any. Last come those behind which nothing is left."""
    for row in sorted(API_TABLE, key=lambda row: row.key is ApiKey.DELETE_TOPICS):
        for path in ((), *_lists(spec(row.key).request, row.max_version)):
            yield Ask(row.key, path)


def _lists(struct: type[Struct], version: int) -> Iterator[tuple[str, ...]]:
    for field in _fields(struct, version):
        element = field.type.element
        inner = field.type.struct if element is None else element.struct
        if element is not None:
            yield (field.name,)
        if inner is not None:
            yield from ((field.name, *path) for path in _lists(inner, version))


@cache
def _fields(struct: type[Struct], version: int) -> list[Field]:
    return [field for field in struct.__schema__.fields if field.in_version(version)]


class Maker(NamedTuple):
    """What makes them."""

    size: int
    ids: list[bytes]
    """Of the topics that there are."""
    wide_id: bytes

    def frame(self, ask: Ask) -> bytes:
        """The request in its newest version."""
        version = ask.key.max_version
        request: Request = default_instance(spec(ask.key).request)
        self._fill(request, version, ask.path, is_wide=False, number=0)
        if isinstance(request, StreamsGroupHeartbeatRequest):
            request.group_id = f"streams-{'.'.join(ask.path)}"  # a group keeps its first topology
        if not ask.path:
            for field in _fields(type(request), version):
                if field.type.element is not None:
                    setattr(request, field.name, None if field.nullable_in(version) else [])
        return request_frame(request, version)

    def _fill(self, made: Struct, version: int, path: tuple[str, ...], *, is_wide: bool, number: int) -> None:
        """path: of the long field. is_wide: whether the field has a long inner list."""
        for field in _fields(type(made), version):
            is_on_path = path[:1] == (field.name,)
            rest = path[1:] if is_on_path else ()
            known = FIELDS.get(f"{type(made).__name__}.{field.name}", FIELDS.get(field.name))
            if known is not None and not is_on_path:
                value = known.format(number) if isinstance(known, str) else known
            elif field.type.element is not None:
                is_long = is_on_path and not rest
                value = [
                    self._value(field.name, field.type.element, version, rest, bool(rest), each)
                    for each in range(self.size if is_long else 1)
                ]
            else:
                value = self._value(field.name, field.type, version, rest, is_wide, number)
            if value is not None:
                setattr(made, field.name, value)

    def _value(
        self, name: str, kind: FieldType, version: int, path: tuple[str, ...], is_wide: bool, number: int
    ) -> Any:
        if kind.struct is not None:
            made = default_instance(kind.struct)
            self._fill(made, version, path, is_wide=is_wide, number=number)
            return made
        if kind.name == "string":
            return WIDE if is_wide else f"t-{number}"
        if kind.name == "uuid":
            return self.wide_id if is_wide else self.ids[number] if number < len(self.ids) else number.to_bytes(16)
        if kind.name == "records":
            return _BATCH
        if name in _NUMBERED:
            return number
        return kind.zero

"""The names in a request: topics and partitions, groups, transactional ids. Found by its schema, for every API alike.

A request names a topic if it has a list of topics, whatever Kafka calls that list and its elements: names or ids,
partitions as numbers or as structs. Topics that are mentioned for another purpose are ignored: the owned partitions
in a ConsumerGroupHeartbeat, the forgotten topics of a Fetch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from barnabas.broker.control.faults.matching import RequestNames
from barnabas.protocol.codec.schema import Request, Struct
from barnabas.protocol.registry import ApiKey, spec

TOPIC, PARTITION, GROUP, TRANSACTIONAL_ID = "topic", "partition", "group", "transactional_id"
OF_TOPICS: Final = ("topics", "topic_data", "v3_and_below_topics", "topic_partitions", "topic_names", "responses")
"""Field names of lists of topics, in requests and responses."""
TOPIC_NAMES: Final = ("name", "topic", "topic_name")
OF_PARTITIONS: Final = ("partitions", "partition_data", "partition_indexes", "partition_responses")
PARTITION_NUMBERS: Final = ("partition_index", "partition", "index")
_AROUND_TOPICS = ("groups", "transactions", "markers", "dirs")
_GROUPS = ("group_id", "groups", "groups_names", "group_ids")
_TRANSACTIONAL_IDS = ("transactional_id", "v3_and_below_transactional_id", "transactional_ids")
_RESOURCES = {2: TOPIC, 32: GROUP}
_COORDINATOR_OF = {0: GROUP, 1: TRANSACTIONAL_ID}
_NO_ID = bytes(16)
_MENTIONS_TOPICS = frozenset({ApiKey.CONSUMER_GROUP_HEARTBEAT})

NameOfId = Callable[[bytes], str]
"""Returns the name of the topic with this id; "" if there is none."""


def named_by(api: ApiKey, versions: range) -> frozenset[str]:
    """Return which of topic, partition, group and transactional_id the API's requests name in any of these versions."""
    if api is ApiKey.FIND_COORDINATOR:
        return frozenset((GROUP, TRANSACTIONAL_ID))
    named = frozenset(_named_by(spec(api).request, versions))
    return named - {TOPIC, PARTITION} if api in _MENTIONS_TOPICS else named


def _named_by(struct: type[Struct], versions: range) -> Iterator[str]:
    for field in struct.__schema__.fields:
        if not any(map(field.in_version, versions)):
            continue
        inner = None if field.type.element is None else field.type.element.struct
        if field.name in OF_TOPICS:
            yield TOPIC
            if inner is not None and any(each.name in OF_PARTITIONS for each in inner.__schema__.fields):
                yield PARTITION
        elif field.name == "resources":
            yield from (TOPIC, GROUP)
        elif field.name in _TRANSACTIONAL_IDS:
            yield TRANSACTIONAL_ID
        elif field.name in _GROUPS and inner is None:
            yield GROUP
        elif field.name in _AROUND_TOPICS and inner is not None:
            yield from _named_by(inner, versions)


def names_in(api: ApiKey, request: Request, name_of_id: NameOfId) -> RequestNames:
    """Return the names in this request."""
    partitions: dict[str, set[int] | None] = {}
    groups: list[str] = []
    transactional_ids: list[str] = []
    by_kind: dict[str, list[str]] = {GROUP: groups, TRANSACTIONAL_ID: transactional_ids}
    for struct in _structs(request):
        for name in _GROUPS:
            groups += _texts(getattr(struct, name, None))
        for name in _TRANSACTIONAL_IDS:
            transactional_ids += _texts(getattr(struct, name, None))
        for resource in getattr(struct, "resources", None) or ():
            kind = _RESOURCES.get(resource.resource_type)
            if kind == TOPIC:
                partitions.setdefault(resource.resource_name, None)
            elif kind is not None:
                by_kind[kind].append(resource.resource_name)
        for topic in () if api in _MENTIONS_TOPICS else topics_in(struct):
            name, numbers = topic_name(topic, name_of_id), partition_numbers(topic)
            known = partitions.setdefault(name, None if numbers is None else set())
            if numbers is not None and known is not None:
                known.update(numbers)
    if api is ApiKey.FIND_COORDINATOR:
        found: Any = request
        if found.key_type in _COORDINATOR_OF:
            by_kind[_COORDINATOR_OF[found.key_type]] += [*found.coordinator_keys, *_texts(found.key)]
    partitions.pop("", None)
    return RequestNames(partitions=partitions, groups=groups, transactional_ids=transactional_ids)


def _structs(request: Request) -> Iterator[Any]:
    """Yield the request, and the structs around its topics."""
    yield request
    for name in _AROUND_TOPICS:
        for element in getattr(request, name, None) or ():
            if isinstance(element, Struct):
                yield element


def topics_in(struct: Any) -> Iterator[Any]:
    """Yield the elements of its lists of topics: structs, or bare names."""
    for name in OF_TOPICS:
        yield from getattr(struct, name, None) or ()


def topic_name(topic: Any, name_of_id: NameOfId) -> str:
    """Return the name of one element."""
    if isinstance(topic, str):
        return topic
    for name in TOPIC_NAMES:
        if given := getattr(topic, name, None):
            return str(given)
    topic_id = getattr(topic, "topic_id", _NO_ID)
    return name_of_id(bytes(topic_id)) if topic_id != _NO_ID else ""


def partition_numbers(topic: Any) -> list[int] | None:
    """Return the partitions of one element; None if it is named as a whole."""
    for name in OF_PARTITIONS:
        listed = getattr(topic, name, None)
        if listed is not None:
            return [partition_number(each) for each in listed]
    return None


def partition_number(partition: Any) -> int:
    """Return the number of one element, which may be that number."""
    if isinstance(partition, int):
        return partition
    for name in PARTITION_NUMBERS:
        found = getattr(partition, name, None)
        if found is not None:
            return int(found)
    raise TypeError(f"{type(partition).__name__} has no partition number")


def _texts(value: Any) -> list[str]:
    """Return a text, or the texts of a list; nothing for an absent value or another type."""
    if isinstance(value, str):
        return [value] if value else []
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

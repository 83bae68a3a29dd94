"""Offsets as JSON, in the form that Spark's stock source writes: {"topic": {"0": 23}}. Pure.

A stream adds the ids of the topics, each as a key without partitions: {"topic#Yv6hB3KQTlmm4dx8pN0XcA": {}}. The end of
its first batch also has where that batch begins, as the JSON of these offsets behind a `#`. No name of a topic has a
`#`, and the stock source and older releases read nothing from such a key, so a query can still change between them.

Partitions come sorted by topic and number, so that equal offsets are equal texts: Spark compares them so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.client.metadata import TopicPartition

Offsets = dict[TopicPartition, int]
TopicIds = dict[str, str]
Json = dict[str, dict[str, int]]

OFFSET_MAX = 2**63 - 1
_SPECIAL_MIN = -2  # EARLIEST, and LATEST above it


_MARK = "#"


class StreamPosition(NamedTuple):
    """Where a batch of a stream begins or ends.

    topic_ids: of the topics of these offsets, in Kafka's text form. A topic has none if the offsets come from the stock
    source or an older release, or if the broker gives none.

    begin: of the end of a query's first batch, where this batch begins. Spark logs only ends; after a kill it asks anew
    where the query begins, and `latest`, or the partitions that there are, may be others by then.
    """

    offsets: Offsets
    topic_ids: TopicIds
    begin: Offsets | None = None


class OffsetsError(ValueError):
    """Text that contains no offsets; the message is the end of a sentence."""


def to_json(offsets: Mapping[TopicPartition, int]) -> Json:
    """Convert offsets for Spark and its checkpoint."""
    found: Json = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(found: Any) -> Offsets:
    """Read offsets from a checkpoint. Raise OffsetsError if it contains something else."""
    return _read(found, _SPECIAL_MIN, "an offset")


def position_to_json(position: StreamPosition) -> Json:
    """Convert a position for Spark and its checkpoint."""
    found = to_json(position.offsets)
    found |= {f"{topic}{_MARK}{topic_id}": {} for topic, topic_id in sorted(position.topic_ids.items())}
    if position.begin is not None:
        found[_MARK + json.dumps(to_json(position.begin), separators=(",", ":"))] = {}
    return found


def position_from_json(found: Any) -> StreamPosition:
    """Read a position from a checkpoint. Raise OffsetsError if it contains something else."""
    offsets = from_json(found)
    parts = [key.partition(_MARK) for key in found]
    begins = [from_json(_load(text)) for topic, mark, text in parts if mark and not topic]
    topic_ids = {topic: topic_id for topic, mark, topic_id in parts if mark and topic}
    return StreamPosition(offsets, topic_ids, begins[0] if begins else None)


def parse_offsets(text: str) -> Offsets:
    """Read offsets from an option; -2 is the earliest, -1 the latest."""
    return _read(_load(text), _SPECIAL_MIN, "an offset, -1 for the latest or -2 for the earliest")


def parse_timestamps(text: str) -> Offsets:
    """Read milliseconds by partition from an option."""
    return _read(_load(text), 0, "a time in milliseconds")


def parse_assignment(text: str) -> tuple[TopicPartition, ...]:
    """Read partitions from an option: {"topic": [0, 1]}."""
    found = _load(text)
    if not isinstance(found, dict) or not found:
        raise OffsetsError(f'{text!r} should be partitions by topic, as in {{"orders":[0,1]}}')
    for topic, numbers in found.items():
        if not isinstance(numbers, list) or not all(_is_number(each) and 0 <= each < 2**31 for each in numbers):
            raise OffsetsError(f"the partitions of {topic!r} are {numbers!r}, and should be a list of numbers")
    return tuple(sorted({(topic, number) for topic, numbers in found.items() for number in numbers}))


def describe(partitions: Any) -> str:
    """Format partitions for a sentence: `orders-0, orders-1`."""
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(partitions))


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise OffsetsError(f"{text!r} is not JSON ({error})") from error


def _read(found: Any, least: int, what: str) -> Offsets:
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise OffsetsError(f'{found!r} should be a JSON object, as in {{"orders":{{"0":23}}}}')
    offsets: Offsets = {}
    for topic, by_partition in found.items():
        for partition, offset in by_partition.items():
            if not (partition.isascii() and partition.isdecimal()) or int(partition) >= 2**31:
                raise OffsetsError(f"{partition!r} is not the number of a partition of {topic!r}")
            if not _is_number(offset) or not least <= offset <= OFFSET_MAX:
                raise OffsetsError(f"{topic}-{partition} has {offset!r}, which is not {what}")
            offsets[topic, int(partition)] = offset
    return offsets


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

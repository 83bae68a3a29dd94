"""The options of the segment source, parsed once: which partitions, which offsets of each, and what a row is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.logfiles.data_directory import PartitionFiles
from barnabas.protocol.files.names import (
    CLUSTER_METADATA_TOPIC,
    CONSUMER_OFFSETS_TOPIC,
    TRANSACTION_STATE_TOPIC,
)
from pyspark_barnabas.options import OptionError, boolean, check_names, integer, json_object, one_of, text
from pyspark_barnabas.source.segments.splits import OffsetBounds

CONTENTS = ("records", "batches", "findings")
LEVELS = ("read_uncommitted", "read_committed")
SPLIT_BYTES = 64 << 20
_EARLIEST, _LATEST = -2, -1
_INTERNAL = frozenset((CLUSTER_METADATA_TOPIC, CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, "__share_group_state"))


@dataclass(frozen=True)
class SegmentReadSettings:
    """The data to read. The broker's internal topics are only read if they are named.

    starting, ending: offsets by topic and partition, -2 for the first and -1 for the end of the log.
    """

    path: str
    content: str = "records"
    is_committed: bool = False
    topics: frozenset[str] | None = None
    pattern: str | None = None
    assigned: Mapping[str, frozenset[int]] | None = None
    starting: Mapping[tuple[str, int], int] = field(default_factory=dict)
    ending: Mapping[tuple[str, int], int] = field(default_factory=dict)
    split_bytes: int = SPLIT_BYTES
    parts_min: int = 1
    fail_on_data_loss: bool = True

    def wants(self, topic: str, partition: int) -> bool:
        """Return whether a partition is read."""
        if self.assigned is not None:
            return partition in self.assigned.get(topic, ())
        if self.topics is not None:
            return topic in self.topics
        return topic not in _INTERNAL and (self.pattern is None or re.search(self.pattern, topic) is not None)

    def offsets(self, files: PartitionFiles) -> OffsetBounds:
        """Return the offsets to read of a partition."""
        place = files.topic, files.partition
        start, end = self.starting.get(place, _EARLIEST), self.ending.get(place, _LATEST)
        return OffsetBounds(files.log_start_offset if start == _EARLIEST else start, None if end == _LATEST else end)


def read_settings(options: Mapping[str, str]) -> SegmentReadSettings:
    """Parse the options as Spark passes them. Raise OptionError with a sentence for an invalid one."""
    check_names(options)
    path = text(options, "path")
    if path is None:
        raise OptionError('no data directory: use load("/var/lib/kafka/data"), or set path')
    if path.startswith("file:"):
        path = re.sub(r"^file:(//)?(?=/)", "", path)
    topics, pattern = text(options, "subscribe"), text(options, "subscribePattern")
    assigned = json_object(options, "assign")
    if sum(given is not None for given in (topics, pattern, assigned)) > 1:
        raise OptionError("subscribe, subscribePattern and assign exclude each other")
    return SegmentReadSettings(
        path,
        content=one_of(options, "content", CONTENTS, CONTENTS[0]),
        is_committed=one_of(options, "isolationLevel", LEVELS, LEVELS[0]) == LEVELS[1],
        topics=None if topics is None else frozenset(each.strip() for each in topics.split(",")),
        pattern=_pattern(pattern),
        assigned=None if assigned is None else _assigned(assigned),
        starting=_offsets(options, "startingOffsets", {"earliest": {}}),
        ending=_offsets(options, "endingOffsets", {"latest": {}}),
        split_bytes=integer(options, "splitBytes", SPLIT_BYTES, at_least=1),
        parts_min=integer(options, "minPartitions", os.cpu_count() or 1, at_least=1),
        fail_on_data_loss=boolean(options, "failOnDataLoss", True),
    )


def _pattern(pattern: str | None) -> str | None:
    try:
        if pattern is not None:
            re.compile(pattern)
    except re.error as error:
        raise OptionError(f"subscribePattern is not a regular expression: {error}") from error
    return pattern


def _assigned(found: Mapping[str, Any]) -> dict[str, frozenset[int]]:
    for topic, partitions in found.items():
        if not isinstance(partitions, list) or not all(type(number) is int for number in partitions):
            raise OptionError(
                f'assign lists partitions by topic, as in {{"orders":[0,1]}}, not {topic}: {partitions!r}'
            )
    return {topic: frozenset(partitions) for topic, partitions in found.items()}


def _offsets(
    options: Mapping[str, str], option: str, words: Mapping[str, dict[tuple[str, int], int]]
) -> dict[tuple[str, int], int]:
    given = text(options, option)
    if given is None or given.lower() in words:
        return words.get((given or "").lower(), {})
    offsets: dict[tuple[str, int], int] = {}
    for topic, partitions in (json_object(options, option) or {}).items():
        if not isinstance(partitions, dict):
            raise OptionError(f'{option} has offsets by topic and partition, as in {{"{topic}":{{"0":23}}}}')
        for partition, offset in partitions.items():
            if not partition.isdecimal() or type(offset) is not int or offset < _EARLIEST:
                raise OptionError(f"{option}: {topic} {partition}: {offset!r} is not an offset of a partition")
            offsets[topic, int(partition)] = offset
    return offsets

"""`barnabas-nodes.json` in the root of a data directory: where partitions are while several nodes share the directory.

A file of Barnabas, which Apache Kafka ignores: to Kafka, and to a start with one node, every partition is on the one
node of the catalogue. One JSON object: `version` 1; `nodes` the ids it was written for; `stopped` the ids of the
stopped nodes; `topics` by their ids, each with `name` and `partitions`, a list of [replicas, isr, leader].

Replaced as a whole, and on the disk before a change counts. A file that cannot be parsed is reported with its path and
never overwritten: NodesFileError. The text of each topic is cached, so that a change encodes only the changed topics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError

FILE_NAME = "barnabas-nodes.json"
VERSION = 1


class NodesFileError(StorageError):
    """The file is not in the format that this version writes. str() begins with its path."""


class TopologyContent(NamedTuple):
    """The content of the file."""

    nodes: tuple[int, ...]
    stopped: frozenset[int]
    topics: Mapping[str, Sequence[Placement]]
    """By the topic's id as text."""


NOTHING = TopologyContent((), frozenset(), {})


def read(root: Directory) -> TopologyContent:
    """Return the state that the last run with several nodes left, or NOTHING. Raises NodesFileError, StorageError."""
    data = root.read(FILE_NAME)
    if data is None:
        return NOTHING
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError, DecodeError) as error:
        why = f"this file is not a list of nodes ({error}): remove it, and the partitions are placed again"
        raise NodesFileError(root.path_of(FILE_NAME), why) from error


class PlacedTopic(NamedTuple):
    """The stored placements of a topic."""

    topic_id: bytes
    name: str
    placements: Sequence[Placement]


class NodesFile:
    """The file as it will be written: the placements of every topic, and the nodes it is for."""

    def __init__(self, root: Directory, nodes: Sequence[int]) -> None:
        self._root = root
        self._nodes = nodes
        self._topics: dict[bytes, bytes] = {}

    def note(self, topic: PlacedTopic) -> None:
        """Record a topic's placements in memory, whether the file has them yet or not."""
        self._topics[topic.topic_id] = _text(topic)

    def forget(self, topic_id: bytes) -> None:
        """Remove a topic that was deleted."""
        self._topics.pop(topic_id, None)

    def write(self, stopped: Iterable[int], changed: Iterable[PlacedTopic] = ()) -> None:
        """Replace the file by the recorded content, synced, with these topics as they are now. Raises StorageError.

        If it fails, nothing is recorded of these topics.
        """
        texts = {topic.topic_id: _text(topic) for topic in changed}
        self._root.write_atomically(FILE_NAME, self._content(stopped, self._topics | texts))
        self._topics.update(texts)

    def is_current(self, stopped: Iterable[int]) -> bool:
        """Return whether the file already has the content that would be written."""
        return self._root.read(FILE_NAME) == self._content(stopped, self._topics)

    def _content(self, stopped: Iterable[int], topics: Mapping[bytes, bytes]) -> bytes:
        head = {"version": VERSION, "nodes": self._nodes, "stopped": sorted(stopped)}
        return _json(head)[:-1] + b',"topics":{' + b",".join(topics.values()) + b"}}\n"


def _text(topic: PlacedTopic) -> bytes:
    partitions = b",".join(map(_placement_text, topic.placements))
    topic_id, name = _json(uuid_text(topic.topic_id)), _json(topic.name)
    return topic_id + b':{"name":' + name + b',"partitions":[' + partitions + b"]}"


@lru_cache(maxsize=1_000)
def _placement_text(placement: Placement) -> bytes:
    """Return the text of a placement, cached: with many partitions and few nodes most placements are equal."""
    return _json(placement)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _decode(content: Any) -> TopologyContent:
    if content["version"] != VERSION:
        raise DecodeError(f"it has version {content['version']}, but this broker reads version {VERSION}")
    topics = {
        topic_id: [_placement(*each) for each in topic["partitions"]] for topic_id, topic in content["topics"].items()
    }
    return TopologyContent(tuple(map(int, content["nodes"])), frozenset(map(int, content["stopped"])), topics)


def _placement(replicas: list[int], isr: list[int], leader: int) -> Placement:
    if not replicas or not isr or not set(isr) <= set(replicas) or leader not in (-1, *isr):
        raise DecodeError(f"no partition can have replicas {replicas}, of these {isr} in sync and leader {leader}")
    return Placement(tuple(map(int, replicas)), tuple(map(int, isr)), int(leader))

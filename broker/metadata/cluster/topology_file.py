"""`barnabas-nodes.json` in the root of a data directory: where partitions are while several nodes share the directory.

A file of ours, which Apache Kafka ignores: to it, and to a start with one node, every partition is on the one node of
the catalogue. One JSON object: `version` 1; `nodes` the ids it was written for; `stopped` those that were stopped;
`topics` by their ids, each with `name` and `partitions`, a list of [replicas, isr, leader].

Replaced as a whole, and on the disk before a change counts. What cannot be understood is told with its path and never
written over: NodesFileError. The text of each topic is kept, so that a change of some of them encodes these alone.
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
    """The file is not what this version writes. str() begins with its path."""


class Kept(NamedTuple):
    """What the file holds."""

    nodes: tuple[int, ...]
    stopped: frozenset[int]
    topics: Mapping[str, Sequence[Placement]]
    """By the topic's id as text."""


NOTHING = Kept((), frozenset(), {})


def read(root: Directory) -> Kept:
    """What the last run with several nodes left; NOTHING where there was none. NodesFileError, StorageError."""
    data = root.read(FILE_NAME)
    if data is None:
        return NOTHING
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError, DecodeError) as error:
        why = f"this is not where nodes are kept ({error}); once the file is removed, partitions are placed anew"
        raise NodesFileError(root.path_of(FILE_NAME), why) from error


class PlacedTopic(NamedTuple):
    """What is kept of a topic."""

    topic_id: bytes
    name: str
    placements: Sequence[Placement]


class NodesFile:
    """The file as it is written: what every topic is like in it, and which nodes it is for."""

    def __init__(self, root: Directory, nodes: Sequence[int]) -> None:
        self._root = root
        self._nodes = nodes
        self._topics: dict[bytes, bytes] = {}

    def note(self, topic: PlacedTopic) -> None:
        """The topic is like this, whether the file says so yet or not."""
        self._topics[topic.topic_id] = _text(topic)

    def forget(self, topic_id: bytes) -> None:
        """There is no such topic any more."""
        self._topics.pop(topic_id, None)

    def write(self, stopped: Iterable[int], changed: Iterable[PlacedTopic] = ()) -> None:
        """Put what is noted in the place of what is there, synced, with these topics as they are now. StorageError.

        If that fails, nothing is noted of these topics.
        """
        texts = {topic.topic_id: _text(topic) for topic in changed}
        self._root.write_atomically(FILE_NAME, self._content(stopped, self._topics | texts))
        self._topics.update(texts)

    def says(self, stopped: Iterable[int]) -> bool:
        """Whether the file says by now what would be written."""
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
    """Partitions are many and nodes few, so most are placed as others are."""
    return _json(placement)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _decode(content: Any) -> Kept:
    if content["version"] != VERSION:
        raise DecodeError(f"it is of version {content['version']}, and this is {VERSION}")
    topics = {
        topic_id: [_placement(*each) for each in topic["partitions"]] for topic_id, topic in content["topics"].items()
    }
    return Kept(tuple(map(int, content["nodes"])), frozenset(map(int, content["stopped"])), topics)


def _placement(replicas: list[int], isr: list[int], leader: int) -> Placement:
    if not replicas or not isr or not set(isr) <= set(replicas) or leader not in (-1, *isr):
        raise DecodeError(f"no partition can have replicas {replicas}, of these {isr} in sync and leader {leader}")
    return Placement(tuple(map(int, replicas)), tuple(map(int, isr)), int(leader))

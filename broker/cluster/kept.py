"""`barnabas-nodes.json` in the root of a data directory: where partitions are while several nodes share the directory.

A file of ours, which Apache Kafka ignores: to it, and to a start with one node, every partition is on the one node of
the catalogue. One JSON object: `version` 1; `nodes` the ids it was written for; `stopped` those that were stopped;
`topics` by their ids, each with `name` and `partitions`, a list of [replicas, isr, leader].

Replaced as a whole, and on the disk before a change counts. What cannot be understood is told with its path and never
written over: NodesFileError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.broker.cluster.placement import Placement
from barnabas.protocol.errors import DecodeError
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


def write(root: Directory, kept: Kept, names: Mapping[str, str]) -> None:
    """Put it in the place of what is there, synced. `names`: of the topics by their ids. StorageError."""
    topics = {
        topic_id: {"name": names[topic_id], "partitions": [list(each) for each in placements]}
        for topic_id, placements in kept.topics.items()
    }
    content = {"version": VERSION, "nodes": kept.nodes, "stopped": sorted(kept.stopped), "topics": topics}
    root.write_atomically(FILE_NAME, json.dumps(content, separators=(",", ":")).encode() + b"\n")


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

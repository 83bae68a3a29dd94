"""What a fault is: what it matches, what it does, and how often. Values, and nothing else.

There are three kinds. A fault of requests matches what a client sends. A fault at a point matches a named step of the
broker's (broker/runtime/events/kinds.py). A fault of the disk matches what is done with a partition's log, or another
file. They differ in what they match and in what they can do; how often is the same for all.

Texts in a match are exact, or patterns in which `*` stands for any characters (matching.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.registry import ApiKey

PLAN_VERSION = 1
PLAN_BYTES_MAX = 64 << 10
FAULTS_MAX = 200
"""In a plan, and armed at a time."""
COUNT_MAX = 1_000_000_000
DELAY_MS_MAX = 3_600_000
ALWAYS = "always"
"""How often a fault fires that is not to end."""


class FaultRefused(Exception):
    """What was asked for makes no sense. str() says why in one sentence, and names what there is."""


class Cut(Enum):
    """Where a connection is cut, seen from the answer."""

    BEFORE = "before"
    MIDDLE = "middle"
    AFTER = "after"


class DiskOperation(Enum):
    """What the disk is asked to do with a file."""

    APPEND = "append"
    """Any write."""
    SYNC = "sync"
    READ = "read"


class DiskFile(Enum):
    """The files of a data directory, by what they are for."""

    LOG = "log"
    """The batches of a partition."""
    INDEX = "index"
    TIMEINDEX = "timeindex"
    TXNINDEX = "txnindex"
    SNAPSHOT = "snapshot"
    """Of a partition's producers."""
    CHECKPOINT = "checkpoint"
    """The data directory's offsets of all partitions, and each partition's leader epochs."""
    CATALOGUE = "catalogue"
    """All files of `__cluster_metadata`, and of nothing else."""


class DiskError(Enum):
    """What the disk says instead, by its name in errno."""

    ENOSPC = "ENOSPC"
    EIO = "EIO"


@dataclass(frozen=True, slots=True)
class Delay:
    """How long: `min_ms` to `max_ms`, each as likely; or, with a mean, exponentially distributed around that."""

    min_ms: float
    max_ms: float
    mean_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Often:
    """Of what matches: how often a fault fires."""

    nth: int = 1
    """From the n-th on that matches."""
    probability: float = 1.0
    """Each of those fires with this probability."""
    times: int | None = 1
    """So many times in all; None for no end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMatch:
    """Requests for which everything is so that is given. A text is a pattern."""

    api: ApiKey | None = None
    versions: tuple[int, int] | None = None
    """From and to, both included."""
    node: int | None = None
    listener: str | None = None
    connection: str | None = None
    """The peer's address and port, as in the log."""
    client_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None

    @property
    def looks_inside(self) -> bool:
        """Whether the body of a request has to be decoded to tell."""
        return any(each is not None for each in (self.topic, self.partition, self.group, self.transactional_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAction:
    """One of error, drop, lose_answer and cut at most; `drop` may come with a cut before the answer."""

    error: ErrorCode | None = None
    """The request is not applied, and answered with this."""
    drop: bool = False
    """It is not applied, and never answered."""
    lose_answer: bool = False
    """It is applied, and never answered."""
    cut: Cut | None = None
    """It is applied (unless dropped), and the connection is closed."""
    delay: Delay | None = None
    """Before anything else, by the machine's clock."""
    pause: bool = False
    """Before anything else it stands until it is released."""
    throttle: int | None = None
    """Its bytes and those of its answer come and go at so many a second."""

    @property
    def holds_up(self) -> bool:
        """Whether a request waits by it, or is never answered."""
        return self.pause or self.drop or self.lose_answer or self.delay is not None or self.throttle is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMatch:
    """A step of the broker's whose facts are as given. A text is a pattern."""

    point: str
    """The name of its kind in broker.events.KINDS."""
    facts: Mapping[str, str | int | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointAction:
    """One of the two."""

    crash: bool = False
    """The process ends as by SIGKILL."""
    pause: bool = False
    """What goes on stands until it is released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskMatch:
    """What is done on the disk with such files of these partitions. The topic is a pattern."""

    operation: DiskOperation
    file: DiskFile = DiskFile.LOG
    topic: str | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskAction:
    """One of the two. Only a sync is delayed: all else is done in the event loop, and would hold up everything."""

    error: DiskError | None = None
    delay: Delay | None = None


Match: TypeAlias = RequestMatch | PointMatch | DiskMatch
Action: TypeAlias = RequestAction | PointAction | DiskAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A match and an action of the same kind, and how often. told: as it was given, to be shown."""

    name: str
    match: Match
    action: Action
    often: Often
    told: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """Faults that are armed together. Same plan, same seed, same answers."""

    faults: tuple[Fault, ...]
    seed: int = 0

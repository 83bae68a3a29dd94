"""The model of a fault: what it matches, what it does, and how often. Values only.

There are three kinds. A fault of requests matches requests of clients. A fault at a point matches a named step of the
broker (broker/runtime/events/kinds.py). A fault of the disk matches operations on a partition's log, or another
file. They differ in what they match and in what they can do; the frequency is defined alike for all.

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
"""Limit in a plan, and of armed faults."""
COUNT_MAX = 1_000_000_000
DELAY_MS_MAX = 3_600_000
ALWAYS = "always"
"""The value of `times` for a fault that fires without a limit."""


class FaultRefused(Exception):
    """A fault or plan is invalid. str() says why in one sentence, with the valid values."""


class Cut(Enum):
    """Where a connection is cut, relative to the answer."""

    BEFORE = "before"
    MIDDLE = "middle"
    AFTER = "after"


class DiskOperation(Enum):
    """An operation of the disk on a file."""

    APPEND = "append"
    """Any write."""
    SYNC = "sync"
    READ = "read"


class DiskFileKind(Enum):
    """The files of a data directory, by purpose."""

    LOG = "log"
    """The batches of a partition."""
    INDEX = "index"
    TIMEINDEX = "timeindex"
    TXNINDEX = "txnindex"
    SNAPSHOT = "snapshot"
    """The producer snapshot of a partition."""
    CHECKPOINT = "checkpoint"
    """The data directory's offsets of all partitions, and each partition's leader epochs."""
    CATALOGUE = "catalogue"
    """All files of `__cluster_metadata`, and no others."""


class DiskError(Enum):
    """The error of the disk, by its name in errno."""

    ENOSPC = "ENOSPC"
    EIO = "EIO"


@dataclass(frozen=True, slots=True)
class Delay:
    """A delay: uniform from `min_ms` to `max_ms`; or, with a mean, exponentially distributed around it."""

    min_ms: float
    max_ms: float
    mean_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Often:
    """How often a fault fires on its matches."""

    nth: int = 1
    """Fires from the n-th match on."""
    probability: float = 1.0
    """Probability of firing for each of these matches."""
    times: int | None = 1
    """Maximum number of firings; None for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMatch:
    """Requests for which all given values match. A text is a pattern."""

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
        """Whether the body of a request has to be decoded to match."""
        return any(each is not None for each in (self.topic, self.partition, self.group, self.transactional_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAction:
    """At most one of error, drop, lose_answer and cut; `drop` may be combined with a cut before the answer."""

    error: ErrorCode | None = None
    """The request is not applied, and answered with this code."""
    drop: bool = False
    """It is not applied, and never answered."""
    lose_answer: bool = False
    """It is applied, and never answered."""
    cut: Cut | None = None
    """It is applied (unless dropped), and the connection is closed."""
    delay: Delay | None = None
    """Before anything else, by the machine's clock."""
    pause: bool = False
    """Before anything else it waits until it is released."""
    throttle: int | None = None
    """Its bytes and those of its answer are transferred at this many bytes per second."""

    @property
    def holds_up(self) -> bool:
        """Whether a request is delayed by it, or never answered."""
        return self.pause or self.drop or self.lose_answer or self.delay is not None or self.throttle is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMatch:
    """A step of the broker whose facts are as given. A text is a pattern."""

    point: str
    """The name of its kind in broker.events.KINDS."""
    facts: Mapping[str, str | int | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointAction:
    """Exactly one of the three."""

    crash: bool = False
    """The process ends as by SIGKILL."""
    pause: bool = False
    """The step waits until it is released."""
    error: ErrorCode | None = None
    """The write after the step fails with this code; nothing is written."""

    @property
    def name(self) -> str:
        """The action in a fault's `do`."""
        return "crash" if self.crash else "pause" if self.pause else "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskMatch:
    """Operations of the disk on such files of these partitions. The topic is a pattern."""

    operation: DiskOperation
    file: DiskFileKind = DiskFileKind.LOG
    topic: str | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskAction:
    """Exactly one of the two. Only a sync is delayed: all else runs in the event loop, and would block everything."""

    error: DiskError | None = None
    delay: Delay | None = None


Match: TypeAlias = RequestMatch | PointMatch | DiskMatch
Action: TypeAlias = RequestAction | PointAction | DiskAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A match and an action of the same kind, and how often. definition: the fault as it was given, for display."""

    name: str
    match: Match
    action: Action
    often: Often
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults that are armed together. The same plan and seed give the same decisions."""

    faults: tuple[Fault, ...]
    seed: int = 0

# compiled: mypyc
"""The job that finishes one transaction: the markers written, the markers left to write, and what it waits for.

Values and properties only; `transaction_marker_writer.py` works with them.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Set
from enum import Enum
from typing import Any

from barnabas.broker.coordinator.transaction.decisions.model import TopicPartition
from barnabas.broker.runtime.events.bounded_facts import some_partitions
from barnabas.broker.runtime.events.cause import Cause
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.control import EndTxnMarker

JobKey = tuple[str, int, int]
"""The transactional id, producer id and epoch of a transaction."""


class Waits(Enum):
    """The reason why a job waits, besides its turn and the disk's syncs."""

    NOT = "nothing"
    LOADING = "a partition that is being loaded"
    ROOM = "free space on the disk"
    BROKEN = "an error, which is retried at longer intervals"
    HELD = "a hold at a step, until it is released"


STUCK = (Waits.ROOM, Waits.BROKEN, Waits.HELD)
"""Waits of unlimited length, so that nothing may wait for such a job."""


class MarkerJob:
    """The job that finishes one transaction."""

    __slots__ = (
        "_came_to",
        "_partitions",
        "_positions",
        "cause",
        "done",
        "held",
        "is_holding",
        "key",
        "marker",
        "name",
        "parked",
        "syncs",
        "todo",
        "version",
        "waits",
        "without_room",
    )

    def __init__(
        self,
        name: str,
        marker: EndTxnMarker,
        version: int,
        partitions: Collection[TopicPartition],
        done: Callable[[], bool],
    ) -> None:
        self.key = job_key(name, marker)
        self.name = name
        self.marker = marker
        self.version = version
        self.todo = sorted(partitions, reverse=True)
        self.parked: dict[TopicPartition, ErrorCode] = {}
        self.without_room: set[TopicPartition] = set()  # of the parked partitions
        self.held: list[TopicPartition] = []
        self.syncs: list[Future[None]] = []
        self.is_holding = len(partitions) > 1  # a single one is released in one step anyway
        self.waits = Waits.NOT
        self.done = done
        self.cause: Cause | None = None
        """The cause of the decision, if it is known."""
        self._partitions = partitions
        self._positions: dict[TopicPartition, int] = {}
        self._came_to: tuple[str, TopicPartition | None] | None = None

    def waits_for_room(self, loading: Set[ErrorCode]) -> bool:
        """Return whether each parked partition is loading (refused with one of these errors) or has a full disk."""
        with_room = {code for where, code in self.parked.items() if where not in self.without_room}
        return with_room <= loading

    def comes_to(self, step: str, where: TopicPartition | None) -> bool:
        """Return whether the job reaches this step now for the first time, and does not retry the partition."""
        if self._came_to == (step, where) or where in self.parked:
            return False
        self._came_to = (step, where)
        return True

    @property
    def held_at(self) -> str | None:
        """The step at which a listener holds the job."""
        return self._came_to[0] if self.waits is Waits.HELD and self._came_to is not None else None

    def facts(self, where: TopicPartition | None) -> dict[str, Any]:
        """Return the event fields of a step: the transaction, and the partition if the step has one."""
        marker = self.marker
        facts: dict[str, Any] = {
            "transactional_id": self.name,
            "producer_id": marker.producer_id,
            "producer_epoch": marker.producer_epoch,
            "is_commit": marker.commit,
        }
        if where is not None:
            if not self._positions:
                self._positions = {each: number for number, each in enumerate(sorted(self._partitions), 1)}
            facts["topic"], facts["partition"] = where
            facts["position"] = self._positions[where]
        return facts

    def partitions(self) -> dict[str, Any]:
        """Return the event fields of all partitions."""
        return {"partitions": some_partitions(self._partitions), "partitions_count": len(self._partitions)}


def job_key(name: str, marker: EndTxnMarker) -> JobKey:
    """Return the key of the job that finishes a transaction."""
    return name, marker.producer_id, marker.producer_epoch

"""One transaction that is being finished: what is written, what is left to write, and what it waits for.

Values and what can be read off them; what is done with them is `markers.py`'s.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Set
from enum import Enum
from typing import Any

from barnabas.broker.coordinator.transaction.decisions.model import TopicPartition
from barnabas.broker.runtime.events.cause import Cause
from barnabas.broker.runtime.events.some import some_partitions
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.control import EndTxnMarker

JobKey = tuple[str, int, int]
"""The transactional id, producer id and epoch of a transaction."""


class Waits(Enum):
    """What a job waits for, besides its turn and the disk's syncs."""

    NOT = "nothing"
    LOADING = "a partition that loads"
    ROOM = "room on the disk"
    BROKEN = "something nobody here can do anything about"
    HELD = "somebody who holds it up at a step"


STUCK = (Waits.ROOM, Waits.BROKEN, Waits.HELD)
"""What may take any time, so that nobody is to wait for it."""


class MarkerJob:
    """One transaction being finished."""

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
        self.without_room: set[TopicPartition] = set()  # of those
        self.held: list[TopicPartition] = []
        self.syncs: list[Future[None]] = []
        self.is_holding = len(partitions) > 1  # one alone is shown in one step anyway
        self.waits = Waits.NOT
        self.done = done
        self.cause: Cause | None = None
        """What led to the decision, where that is known."""
        self._partitions = partitions
        self._positions: dict[TopicPartition, int] = {}
        self._came_to: tuple[str, TopicPartition | None] | None = None

    def waits_for_room(self, loading: Set[ErrorCode]) -> bool:
        """Whether every partition it waits for loads, which is one of these refusals, or its disk is full."""
        with_room = {code for where, code in self.parked.items() if where not in self.without_room}
        return with_room <= loading

    def comes_to(self, step: str, where: TopicPartition | None) -> bool:
        """Whether it comes to this step now, and did not stop there before, nor try its partition."""
        if self._came_to == (step, where) or where in self.parked:
            return False
        self._came_to = (step, where)
        return True

    @property
    def held_at(self) -> str | None:
        """The step at which somebody holds it up."""
        return self._came_to[0] if self.waits is Waits.HELD and self._came_to is not None else None

    def facts(self, where: TopicPartition | None) -> dict[str, Any]:
        """What is told of a step: of the transaction, and of the partition if it is one's."""
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
        """What is told of all partitions."""
        return {"partitions": some_partitions(self._partitions), "partitions_count": len(self._partitions)}


def job_key(name: str, marker: EndTxnMarker) -> JobKey:
    """The key of the job that finishes a transaction."""
    return name, marker.producer_id, marker.producer_epoch

"""A change of records' states, from its decision until it is stored.

A change that waits for its write is not seen by fetches: its cells count as in the new state for the delivery complete
count, and as unfinished for the start offset. If the write fails, the records are acquired as before, or released if
their lock ended meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from barnabas.broker.partitions.share.in_flight_records import NEVER, NO_MEMBER, DeliveryCell
from barnabas.broker.partitions.share.persister import DeliveryState, StateBatch

if TYPE_CHECKING:
    from barnabas.broker.partitions.share.persister import ShareStateUpdate


class StateChange:
    """The cells that change together, from one member or from several.

    `member` is who holds them until the change is stored; None if the change was visible at once.
    """

    __slots__ = ("cells", "holders", "member", "update")

    def __init__(self, cells: list[DeliveryCell], member: str | None) -> None:
        self.cells = cells
        self.member = member
        self.update: ShareStateUpdate | None = None
        """To be stored; None if there is nothing to store."""
        self.holders: Mapping[str, Sequence[tuple[int, int]]] = {}
        """The ranges whose lock ended, by the member that held them."""
        if member is not None:
            for cell in cells:
                cell.change = cells

    def finish(self) -> None:
        """Make the new states visible: they are stored."""
        for cell in self.cells:
            if cell.change is self.cells:
                _let_go(cell)

    def undo(self, now: float, delivery_count_limit: int) -> None:
        """Return to the states before: the new ones could not be stored."""
        for cell in self.cells:
            if cell.change is not self.cells:
                continue
            assert self.member is not None, "a change that is visible at once is never undone"
            if cell.deadline <= now:
                cell.state = released_state(cell, delivery_count_limit)
                _let_go(cell)
            else:
                cell.state, cell.member, cell.change = DeliveryState.ACQUIRED, self.member, None


def released_state(cell: DeliveryCell, delivery_count_limit: int) -> DeliveryState:
    """Return the state of records that were not processed: archived after the last delivery."""
    return DeliveryState.ARCHIVED if cell.count >= delivery_count_limit else DeliveryState.AVAILABLE


def state_batches(cells: Iterable[DeliveryCell]) -> tuple[StateBatch, ...]:
    """Return the states of cells, in order, to be stored: ranges that do not differ are one."""
    batches: list[StateBatch] = []
    kind: tuple[int, int] | None = None
    for cell in sorted(cells, key=attrgetter("first")):
        this = int(cell.state), cell.count
        if this == kind and batches[-1].last_offset + 1 == cell.first:
            batches[-1] = batches[-1]._replace(last_offset=cell.last)
        else:
            batches.append(StateBatch(cell.first, cell.last, *this))
            kind = this
    return tuple(batches)


def _let_go(cell: DeliveryCell) -> None:
    cell.change, cell.member, cell.deadline = None, NO_MEMBER, NEVER

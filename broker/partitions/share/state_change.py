# compiled: mypyc
"""A change of records' states, from its decision until it is stored.

A change that waits for its write is not seen by fetches: its cells count as in the new state for the delivery complete
count, and as unfinished for the start offset. If the write fails, the records are acquired as before; a lock that ended
meanwhile ends them then.

Records that get dead letters (KIP-1191) end in two steps: ARCHIVING is stored first, and ARCHIVED once their dead
letters are written, or cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from barnabas.broker.partitions.share.dead_letters import DeadLetter, DeadLetterCause, joined
from barnabas.broker.partitions.share.in_flight_records import NEVER, NO_MEMBER, DeliveryCell
from barnabas.broker.partitions.share.persister import DeliveryState, StateBatch, as_state_batch

if TYPE_CHECKING:
    from barnabas.broker.config.resources.share_groups import ShareGroupSettings
    from barnabas.broker.partitions.share.persister import ShareStateUpdate


class StateChange:
    """The cells that change together, from one member or from several.

    `member` is who holds them until the change is stored; None if the change was visible at once.
    """

    __slots__ = ("cells", "dead_letters", "holders", "member", "update")

    def __init__(self, cells: list[DeliveryCell], member: str | None) -> None:
        self.cells = cells
        self.member = member
        self.update: ShareStateUpdate | None = None
        """To be stored; None if there is nothing to store."""
        self.holders: Mapping[str, Sequence[tuple[int, int]]] = {}
        """The ranges whose lock ended, by the member that held them."""
        self.dead_letters: list[DeadLetter] = []
        """To be written once the update is stored."""
        if member is not None:
            for cell in cells:
                cell.change = cells

    @property
    def is_final(self) -> bool:
        """Whether it stays even if it cannot be stored: it was visible at once."""
        return self.member is None

    def finish(self) -> None:
        """Make the new states visible: they are stored."""
        for cell in self.cells:
            if cell.change is self.cells:
                _let_go(cell)

    def undo(self) -> None:
        """Return to the states before: the new ones could not be stored."""
        for cell in self.cells:
            if cell.change is self.cells:
                assert self.member is not None, "a change that is visible at once is never undone"
                cell.state, cell.member, cell.change = DeliveryState.ACQUIRED, self.member, None


def released_state(cell: DeliveryCell, settings: ShareGroupSettings) -> DeliveryState:
    """Return the state of records that were not processed: finished after the last delivery."""
    return finished_state(settings) if cell.count >= settings.delivery_count_limit else DeliveryState.AVAILABLE


def finished_state(settings: ShareGroupSettings) -> DeliveryState:
    """Return the state of records that are not delivered any more, and were not accepted."""
    return DeliveryState.ARCHIVING if settings.dead_letter_topic else DeliveryState.ARCHIVED


def worn_out(cells: Iterable[DeliveryCell]) -> list[DeadLetter]:
    """Return the dead letters of released records, which are those after their last delivery."""
    return joined(
        DeadLetter(cell.first, cell.last, cell.count, DeadLetterCause.WORN_OUT)
        for cell in cells
        if cell.state is DeliveryState.ARCHIVING
    )


def state_batches(cells: Iterable[DeliveryCell]) -> tuple[StateBatch, ...]:
    """Return the states of cells, in order, to be stored: ranges that do not differ are one."""
    batches: list[StateBatch] = []
    in_order = sorted(cells, key=attrgetter("first"))
    index, end = 0, len(in_order)
    while index < end:
        cell = in_order[index]
        first, last, state, count = cell.first, cell.last, cell.state, cell.count
        index += 1
        while index < end and (cell := in_order[index]).first == last + 1:
            if cell.state is not state or cell.count != count:
                break
            last = cell.last
            index += 1
        batches.append(as_state_batch((first, last, int(state), count)))
    return tuple(batches)


def _let_go(cell: DeliveryCell) -> None:
    cell.change, cell.member, cell.deadline = None, NO_MEMBER, NEVER

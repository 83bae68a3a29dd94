# compiled: mypyc
"""The records between a share partition's start and end: batches as they were acquired, in cells of one state each.

Knows ranges of offsets; knows neither members' sessions nor the log. A batch is what was acquired together first, and
keeps its bounds, since a batch whose deliveries fail is taken apart by its size (KIP-1222). Its cells are the ranges
of equal state in it; one that is split shares a change of state that is being stored.

Invariants: batches are in order and do not overlap, nor do cells; a cell lies inside its batch and holds a record at
least; offsets between two batches hold no records. Cells below the start offset are dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from barnabas.broker.partitions.share.persister import FINISHED_STATES, DeliveryState

NO_MEMBER = ""
NEVER = float("inf")
_FIRST = attrgetter("first")


class DeliveryCell:
    """A range of records in one state."""

    __slots__ = ("change", "count", "deadline", "first", "last", "member", "state")

    def __init__(
        self,
        first: int,
        last: int,
        state: DeliveryState,
        count: int,
        member: str = NO_MEMBER,
        deadline: float = NEVER,
    ) -> None:
        assert first <= last, (first, last)
        self.first = first
        self.last = last
        self.state = state
        self.count = count
        """How often the records were delivered."""
        self.member = member
        self.deadline = deadline
        """When the acquisition lock ends."""
        self.change: list[DeliveryCell] | None = None
        """The cells that change with this one, while its change to `state` is being stored."""

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def is_finished(self) -> bool:
        """Whether the records will never be delivered again, as far as is known now."""
        return self.state in FINISHED_STATES

    @property
    def is_available(self) -> bool:
        return self.state is DeliveryState.AVAILABLE and self.change is None

    def split_at(self, offsets: Sequence[int]) -> list[DeliveryCell]:
        """Cut off and return the parts that begin at these offsets, which are in order."""
        assert self.first < offsets[0], (self.first, offsets)
        ends = [*(offset - 1 for offset in offsets), self.last]
        state, count, member, deadline = self.state, self.count, self.member, self.deadline
        parts = [
            DeliveryCell(first, last, state, count, member, deadline)
            for first, last in zip(offsets, ends[1:], strict=True)
        ]
        self.last = ends[0]
        if self.change is not None:
            self.change += parts
            for part in parts:
                part.change = self.change
        return parts

    def continues(self, other: DeliveryCell) -> bool:
        """Return whether this cell could be one with `other`, which ends before it."""
        return (
            other.last + 1 == self.first
            and other.state is self.state
            and other.count == self.count
            and other.member == self.member
            and other.deadline == self.deadline
            and other.change is None
            and self.change is None
        )


class InFlightBatch:
    """The records that were acquired together first."""

    __slots__ = ("cells", "first", "is_gap", "last")

    def __init__(self, cells: list[DeliveryCell], *, is_gap: bool = False) -> None:
        self.first = cells[0].first
        self.last = cells[-1].last
        self.cells = cells
        self.is_gap = is_gap
        """Whether these are records that were in flight, and of no stored state, when the state was loaded."""

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    def cut(self, first: int, last: int) -> list[DeliveryCell]:
        """Return the cells in [first, last]; those across its bounds are split."""
        begin, end = self._bounds(first, last)
        cells = self.cells
        if begin < end and cells[begin].first < first:
            cells.insert(begin + 1, cells[begin].split_at((first,))[0])
            begin, end = begin + 1, end + 1
        if begin < end and cells[end - 1].last > last:
            cells.insert(end, cells[end - 1].split_at((last + 1,))[0])
        return cells[begin:end]

    def divide(self, offsets: Sequence[int]) -> None:
        """Split the cells in one pass, so that none is on both sides of one of these offsets, which are in order."""
        divided: list[DeliveryCell] = []
        position = 0
        for cell in self.cells:
            begin = bisect_right(offsets, cell.first, position)
            position = bisect_right(offsets, cell.last, begin)
            divided.append(cell)
            if begin < position:
                divided += cell.split_at(offsets[begin:position])
        self.cells = divided

    def overlapping(self, first: int, last: int) -> list[DeliveryCell]:
        """Return the cells that have offsets in [first, last]."""
        begin, end = self._bounds(first, last)
        return self.cells[begin:end]

    def _bounds(self, first: int, last: int) -> tuple[int, int]:
        """Return the indexes of the first cell that has offsets in [first, last], and behind the last one."""
        begin = bisect_right(self.cells, first, key=_FIRST)
        if begin and self.cells[begin - 1].last >= first:
            begin -= 1
        return begin, bisect_right(self.cells, last, key=_FIRST)

    def join_cells(self) -> None:
        """Make one cell of those that do not differ."""
        joined: list[DeliveryCell] = []
        for cell in self.cells:
            if joined and cell.continues(joined[-1]):
                joined[-1].last = cell.last
            else:
                joined.append(cell)
        self.cells = joined


class InFlightRecords:
    """The batches of one share partition."""

    def __init__(self) -> None:
        self.batches: list[InFlightBatch] = []

    def __bool__(self) -> bool:
        return bool(self.batches)

    def cells(self) -> Iterator[DeliveryCell]:
        """Yield all cells, in order."""
        for batch in self.batches:
            yield from batch.cells

    def finished_count(self) -> int:
        """Return how many records are finished."""
        return sum(
            cell.last - cell.first + 1
            for batch in self.batches
            for cell in batch.cells
            if cell.state in FINISHED_STATES
        )

    def first_available(self) -> DeliveryCell | None:
        """Return the first cell that may be acquired."""
        for batch in self.batches:
            for cell in batch.cells:
                if cell.is_available:
                    return cell
        return None

    def floor(self, offset: int) -> InFlightBatch | None:
        """Return the last batch that begins at or before `offset`."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        return self.batches[index - 1] if index else None

    def between(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches that have offsets in [first, last]."""
        index = bisect_right(self.batches, first, key=_FIRST)
        if index and self.batches[index - 1].last >= first:
            index -= 1
        end = bisect_right(self.batches, last, key=_FIRST)
        return self.batches[index:end]

    def add(self, batch: InFlightBatch) -> None:
        """Add a batch where there was none."""
        index = bisect_right(self.batches, batch.first, key=_FIRST)
        assert not index or self.batches[index - 1].last < batch.first, "batches overlap"
        assert index == len(self.batches) or batch.last < self.batches[index].first, "batches overlap"
        self.batches.insert(index, batch)

    def extend(self, batches: list[InFlightBatch]) -> None:
        """Add batches, which are in order, behind all others."""
        assert not batches or not self.batches or self.batches[-1].last < batches[0].first, "batches overlap"
        self.batches += batches

    def fill(self, gap: InFlightBatch, batches: list[InFlightBatch]) -> None:
        """Put batches in the place of a gap; what they leave of it stays one."""
        index = self.batches.index(gap)
        rest = [] if batches[-1].last == gap.last else [gap_between(batches[-1].last + 1, gap.last)]
        before = [] if batches[0].first == gap.first else [gap_between(gap.first, batches[0].first - 1)]
        self.batches[index : index + 1] = [*before, *batches, *rest]

    def drop_before(self, offset: int) -> None:
        """Forget all records below `offset`."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        if index and self.batches[index - 1].last >= offset:
            index -= 1
        del self.batches[:index]
        if self.batches and self.batches[0].first < offset:
            first = self.batches[0]
            first.cells = first.cut(offset, first.last)

    def advance_over_finished(self, start_offset: int) -> int:
        """Forget finished records at the front, and return the new start offset."""
        batches = self.batches
        for index, batch in enumerate(batches):
            for at, cell in enumerate(batch.cells):
                if not cell.is_finished or cell.change is not None:
                    del batch.cells[:at]
                    del batches[:index]
                    return cell.first if index or at else start_offset
        if batches:
            start_offset = batches[-1].last + 1
            batches.clear()
        return start_offset


def gap_between(first: int, last: int) -> InFlightBatch:
    """Return a batch of records without a stored state."""
    return InFlightBatch([DeliveryCell(first, last, DeliveryState.AVAILABLE, 0)], is_gap=True)

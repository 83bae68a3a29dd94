# compiled: mypyc
"""The next receiver and giver of a topic's partition: the least and the most loaded subscribers, in turn.

The subscribers are in a row, sorted by their number of partitions and then by member. At its left end are the
receivers, the subscribers with the fewest: each gets one partition in turn, and when all have one, the subscribers that
had one more join them. At the right end are the givers, the subscribers with the most, in the same way. When the
numbers of a receiver and of a giver differ by one or less, the row is balanced.

A giver that has no partition of this topic is set aside, beyond the right end of the givers, however many it has of
other topics.

Invariants: `sizes` is the assignor's own list, and changes while this is in use. The row is not sorted again; a
subscriber's load is read when the receivers or givers reach it.
"""

from __future__ import annotations

from collections.abc import Sequence


class Loads:
    """The subscribers of one topic, at least one, as indices into `sizes`, which counts partitions of all topics."""

    __slots__ = (
        "_givers_begin",
        "_givers_end",
        "_giving_level",
        "_next_giver",
        "_next_receiver",
        "_receivers_end",
        "_receiving_level",
        "_row",
        "_sizes",
        "spread",
    )

    def __init__(self, subscribers: Sequence[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._row = row = sorted(subscribers, key=lambda member: (sizes[member], member))
        least, most = sizes[row[0]], sizes[row[-1]]
        self.spread = most - least
        """The initial difference between the most and the least loaded."""
        self._receivers_end = 0
        self._receiving_level = least - 1  # the number of partitions of each receiver before its next one
        self._next_receiver = 0
        self._givers_begin = self._givers_end = len(row)
        self._giving_level = most + 1
        self._next_giver = len(row) - 1

    @property
    def is_balanced(self) -> bool:
        return self._giving_level - self._receiving_level <= 1

    def receiver(self) -> int:
        """Return the member that gets the next partition."""
        row, sizes = self._row, self._sizes
        if self._next_receiver >= self._receivers_end:  # all have got one
            self._receiving_level += 1
            while self._receivers_end < len(row) and sizes[row[self._receivers_end]] == self._receiving_level:
                self._receivers_end += 1
            self._next_receiver = 0
        self._next_receiver += 1
        return row[self._next_receiver - 1]

    def giver(self) -> int | None:
        """Return the member that gives the next partition, or is to be set aside; None if no member is left."""
        row, sizes = self._row, self._sizes
        if self._next_giver < self._givers_begin:  # all have given one
            if self._givers_end <= self._givers_begin and self._givers_begin > 0:  # or all are set aside
                self._giving_level = sizes[row[self._givers_begin - 1]]
            else:
                self._giving_level -= 1
            while self._givers_begin > 0 and sizes[row[self._givers_begin - 1]] == self._giving_level:
                self._givers_begin -= 1
            self._next_giver = self._givers_end - 1
        if self._next_giver < 0:
            return None
        self._next_giver -= 1
        return row[self._next_giver + 1]

    def set_giver_aside(self) -> None:
        """Set the member aside that `giver` returned last: it has no partition to give."""
        row, place = self._row, self._next_giver + 1
        self._givers_end -= 1
        row[place], row[self._givers_end] = row[self._givers_end], row[place]

# compiled: mypyc
"""The ranges of a share partition's state: a change is put over the ranges so far.

Where ranges overlap, the one with the higher delivery count is in force, of equal ones that with the higher state, as
in Kafka: a state only goes forward. Ranges that adjoin and are alike become one.

Invariant: the result is in order and without overlaps. Only the ranges near a change are looked at, so that a small
change of a long state is short work.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from operator import itemgetter

from barnabas.broker.partitions.share.persister import NOT_STARTED, StateBatch

_first_offset, _last_offset = itemgetter(0), itemgetter(1)


def merged(so_far: Sequence[StateBatch], new: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """Return the ranges after a change, from the start offset on. `so_far` is in order and without overlaps."""
    valid = [batch for batch in new if batch[0] <= batch[1]]
    if not valid:
        return _from(start_offset, so_far)
    is_ordered, is_joined = _order_of(valid)
    if is_ordered:
        first, last = valid[0][0], valid[-1][1]
    else:
        first, last = min(map(_first_offset, valid)), max(map(_last_offset, valid))
    begin = bisect_left(so_far, first - 1, key=_last_offset)
    end = bisect_right(so_far, last + 1, lo=begin, key=_first_offset)
    near = so_far[begin:end]
    if near or not is_joined:
        valid = _overlaid(near, valid) if is_ordered else _flattened([*near, *valid])
    return _from(start_offset, (*so_far[:begin], *valid, *so_far[end:]))


def in_order(batches: Sequence[StateBatch]) -> tuple[StateBatch, ...]:
    """Return ranges of unknown origin, in order and without overlaps."""
    is_ordered, _ = _order_of(batches)
    if is_ordered:
        return tuple(batches)
    return merged((), batches, NOT_STARTED)


def _from(start_offset: int, batches: Sequence[StateBatch]) -> tuple[StateBatch, ...]:
    """Return the ranges without what is before the start offset."""
    begin = bisect_left(batches, start_offset, key=_last_offset)
    kept = tuple(batches[begin:] if begin else batches)
    if kept and kept[0].first_offset < start_offset:
        return (kept[0]._replace(first_offset=start_offset), *kept[1:])
    return kept


def _order_of(batches: Sequence[StateBatch]) -> tuple[bool, bool]:
    """Return whether ranges are in order without overlaps, and whether moreover none is like one that adjoins it."""
    is_joined = True
    end = end_state = end_count = 0  # of the range before
    for number, (first, last, state, count) in enumerate(batches):
        if number:
            if first <= end:
                return False, False
            if first == end + 1 and state == end_state and count == end_count:
                is_joined = False
        end, end_state, end_count = last, state, count
    return True, is_joined


def _overlaid(below: Sequence[StateBatch], above: Sequence[StateBatch]) -> list[StateBatch]:
    """Return the ranges of two lists, each in order and without overlaps: what almost every change is."""
    found: list[StateBatch] = []
    lower, upper = iter(below), iter(above)
    one, other = next(lower, None), next(upper, None)
    while one is not None and other is not None:
        if one[0] > other[0]:
            one, other, lower, upper = other, one, upper, lower
        first, last, state, count = one
        next_first, next_last, next_state, next_count = other
        if last < next_first:
            _extend(found, one)
            one = next(lower, None)
        elif first < next_first:
            _extend(found, StateBatch(first, next_first - 1, state, count))
            one = StateBatch(next_first, last, state, count)
        else:  # both begin here: the stronger one is in force up to the nearer end
            end = min(last, next_last)
            if (count, state) < (next_count, next_state):
                _extend(found, StateBatch(first, end, next_state, next_count))
            else:
                _extend(found, StateBatch(first, end, state, count))
            one = StateBatch(end + 1, last, state, count) if end < last else next(lower, None)
            other = StateBatch(end + 1, next_last, next_state, next_count) if end < next_last else next(upper, None)
    for batch in () if one is None else (one, *lower):
        _extend(found, batch)
    for batch in () if other is None else (other, *upper):
        _extend(found, batch)
    return found


def _flattened(batches: list[StateBatch]) -> list[StateBatch]:
    """Return ranges that may overlap without overlaps: from left to right, the strongest of those that cover."""
    batches.sort()
    found: list[StateBatch] = []
    covering: list[tuple[int, int, int]] = []  # a heap, the strongest first: negated count and state, last offset
    position, at = 0, 0
    while position < len(batches) or covering:
        if not covering:
            at = batches[position].first_offset
        while position < len(batches) and batches[position].first_offset <= at:
            _, last, state, count = batches[position]
            heappush(covering, (-count, -state, last))
            position += 1
        count, state, last = covering[0]
        if position < len(batches):
            last = min(last, batches[position].first_offset - 1)
        _extend(found, StateBatch(at, last, -state, -count))
        at = last + 1
        while covering and covering[0][2] < at:
            heappop(covering)
    return found


def _extend(found: list[StateBatch], batch: StateBatch) -> None:
    """Add a range at the end; one that is like the last and adjoins it becomes a part of it."""
    if found:
        first, last, state, count = found[-1]
        if last + 1 == batch[0] and state == batch[2] and count == batch[3]:
            found[-1] = StateBatch(first, batch[1], state, count)
            return
    found.append(batch)

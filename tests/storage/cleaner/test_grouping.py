"""Which segments are cleaned into one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.cleaner.grouping import SegmentSizes, group_segments

_SPAN = 1 << 31


def groups(segments: list[SegmentSizes], end: int = 1_000) -> list[list[int]]:
    return [[each.base_offset for each in group] for group in group_segments(segments, 100, 100, end)]


@pytest.mark.parametrize(
    ("segments", "end", "expected"),
    [
        ([], 0, []),
        ([(0, 200, 0, 0)], 10, [[0]]),  # one alone may be too large
        ([(0, 50, 0, 0), (10, 50, 0, 0), (20, 1, 0, 0)], 30, [[0, 10], [20]]),
        ([(0, 1, 50, 0), (10, 1, 51, 0)], 30, [[0], [10]]),
        ([(0, 1, 0, 50), (10, 1, 0, 51), (20, 1, 0, 49)], 30, [[0], [10, 20]]),
        ([(0, 1, 0, 0), (10, 1, 0, 0)], _SPAN, [[0, 10]]),
        ([(0, 1, 0, 0), (10, 1, 0, 0)], _SPAN + 1, [[0], [10]]),
        ([(0, 1, 0, 0), (10, 0, 0, 0)], _SPAN + 1, [[0, 10]]),  # an empty one has no offsets
        ([(0, 1, 0, 0), (10, 1, 0, 0), (_SPAN + 1, 1, 0, 0)], _SPAN + 5, [[0], [10, _SPAN + 1]]),
    ],
)
def test_groups(segments: list[tuple[int, int, int, int]], end: int, expected: list[list[int]]) -> None:
    assert groups([SegmentSizes(*each) for each in segments], end=end) == expected


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 60), st.integers(0, 60)), max_size=20))
def test_groups_are_neighbours_and_no_larger_than_they_may_be(sizes: list[tuple[int, int, int]]) -> None:
    segments = [SegmentSizes(number, *each) for number, each in enumerate(sizes)]
    found = group_segments(segments, 100, 80, len(sizes))
    assert [each for group in found for each in group] == segments
    for group in found:
        if len(group) > 1:
            assert sum(each.log_bytes for each in group) <= 100
            assert sum(each.offset_index_bytes for each in group) <= 80
            assert sum(each.time_index_bytes for each in group) <= 80

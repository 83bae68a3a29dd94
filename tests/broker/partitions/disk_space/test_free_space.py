"""When a data directory is full, and when not any more: numbers in, a decision out."""

import pytest

from barnabas.broker.partitions.disk_space.free_space import (
    LOOK_MS,
    LOOK_OFTEN_MS,
    RELAPSE_MS,
    WAIT_MAX_MS,
    WAIT_MIN_MS,
    WRITTEN_BYTES_PER_MS,
    for_producers,
    is_enough,
    is_used_up,
    look_after_ms,
    reserve_of,
    wait_ms,
)
from barnabas.storage.disk.files import Volume

MIB = 1 << 20
LARGE = 1 << 40


@pytest.mark.parametrize(("total", "wanted", "reserve"), [(LARGE, 64 * MIB, 64 * MIB), (100 * MIB, 64 * MIB, 5 * MIB)])
def test_the_reserve_is_a_twentieth_of_a_small_disk(total: int, wanted: int, reserve: int) -> None:
    assert reserve_of(Volume(total, 0), wanted) == reserve


@pytest.mark.parametrize("reserve", [0, 1, 64 * MIB])
def test_a_directory_is_never_full_and_not_at_the_same_number(reserve: int) -> None:
    for usable in (0, 1, reserve - 1, reserve, reserve + 1, 2 * reserve, 2 * reserve + MIB):
        volume = Volume(LARGE, max(0, usable))
        assert not (is_used_up(volume, reserve) and is_enough(volume, reserve))


def test_without_a_reserve_a_full_directory_is_left_with_some_room_all_the_same() -> None:
    assert not is_enough(Volume(LARGE, MIB - 1), 0)
    assert is_enough(Volume(LARGE, MIB), 0)
    assert is_enough(Volume(2 * MIB, MIB // 10), 0)


@pytest.mark.parametrize("reserve", [0, 64 * MIB])
def test_between_two_looks_producers_cannot_use_up_the_reserve(reserve: int) -> None:
    for usable in (reserve, reserve + MIB, reserve + 200 * MIB, LARGE):
        after_ms = look_after_ms(Volume(LARGE, usable), reserve)
        assert LOOK_OFTEN_MS <= after_ms <= LOOK_MS
        written = after_ms * WRITTEN_BYTES_PER_MS
        assert usable - written >= 0 or reserve < LOOK_OFTEN_MS * WRITTEN_BYTES_PER_MS


def test_a_directory_that_is_full_again_and_again_is_tried_more_and_more_seldom() -> None:
    assert wait_ms(None, 0) == 0
    waits = [0]
    for _ in range(10):
        waits.append(wait_ms(100.0, waits[-1]))
    assert waits[1] == WAIT_MIN_MS
    assert waits[-1] == WAIT_MAX_MS
    assert waits == sorted(waits)
    assert wait_ms(RELAPSE_MS + 1, WAIT_MAX_MS) == 0


def test_clients_are_told_of_what_producers_can_fill() -> None:
    volume = Volume(LARGE, 100)
    assert for_producers(volume, 30, is_full=False) == Volume(LARGE, 70)
    assert for_producers(volume, 130, is_full=False) == Volume(LARGE, 0)
    assert for_producers(volume, 30, is_full=True) == Volume(LARGE, 0)

"""The map from keys to offsets, against a dict."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.cleaner.offset_map import ENTRY_BYTES, NOT_FOUND, OffsetMap


@given(st.lists(st.binary(max_size=6), max_size=200), st.sampled_from((0.5, 0.9, 1.0)))
def test_it_is_a_dict_until_it_is_full(keys: list[bytes], load_factor: float) -> None:
    offset_map, model = OffsetMap(40 * ENTRY_BYTES, load_factor, 10_000), dict[bytes, int]()
    for offset, key in enumerate(keys):
        if offset_map.is_full:
            assert len(model) == int(40 * load_factor)
            break
        offset_map.put(key, offset)
        model[key] = offset
    assert offset_map.entries == len(model)
    assert offset_map.fullness == len(model) / 40
    assert {key: offset_map.get(key) for key in model} == model
    assert all(offset_map.get(b"other%d" % number) == NOT_FOUND for number in range(50))


def test_every_place_that_is_allowed_can_be_taken() -> None:
    offset_map = OffsetMap(1_000 * ENTRY_BYTES, 1.0, 1 << 40)
    for number in range(1_000):
        assert not offset_map.is_full
        offset_map.put(b"%d" % number, number)
    assert offset_map.is_full
    assert [offset_map.get(b"%d" % number) for number in range(1_000)] == list(range(1_000))


def test_memory_follows_what_there_is_to_map() -> None:
    assert OffsetMap(128 << 20, 0.9, 100).size_bytes < 10_000
    offset_map = OffsetMap(1 << 20, 0.9, 1 << 40)
    sizes = [offset_map.size_bytes]
    for number in range(offset_map.entries_max):
        offset_map.put(b"%d" % number, number)
        if offset_map.size_bytes != sizes[-1]:
            sizes.append(offset_map.size_bytes)
    assert len(sizes) == 3
    assert all(3.9 * before < after < 4.1 * before for before, after in pairwise(sizes))
    assert 0 <= sizes[-1] - (1 << 20) < 200 * ENTRY_BYTES


def test_a_map_that_grows_has_what_was_put() -> None:
    offset_map, model = OffsetMap(1 << 20, 0.9, 1 << 40), dict[bytes, int]()
    for offset in range(30_000):
        key = b"%d" % (offset * 7_919 % 20_011)
        assert offset_map.put(key, offset) == model.get(key, NOT_FOUND)
        model[key] = offset
    assert offset_map.entries == len(model)
    assert all(offset_map.get(key) == offset for key, offset in model.items())
    assert offset_map.get(b"other") == NOT_FOUND


def test_it_grows_in_small_steps() -> None:
    offset_map = OffsetMap(1 << 20, 0.9, 1 << 40)
    number = 0
    while not offset_map.is_crowded(1):
        offset_map.put(b"%d" % number, number)
        number += 1
    before = offset_map.size_bytes
    assert before // ENTRY_BYTES // 128 <= len(list(offset_map.growing())) <= before // ENTRY_BYTES // 128 + 1
    assert offset_map.size_bytes > 3 * before
    assert [offset_map.get(b"%d" % each) for each in range(number)] == list(range(number))


def test_a_map_without_room_for_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="no room for a single key"):
        OffsetMap(ENTRY_BYTES, 0.9, 10)

"""The map from keys to offsets, against a dict."""

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


def test_memory_follows_what_there_can_be_to_map() -> None:
    assert OffsetMap(128 << 20, 0.9, 100).size_bytes < 10_000
    assert 0 <= OffsetMap(1 << 20, 0.9, 1 << 40).size_bytes - (1 << 20) < 200 * ENTRY_BYTES


def test_a_map_without_room_for_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="no room for a single key"):
        OffsetMap(ENTRY_BYTES, 0.9, 10)

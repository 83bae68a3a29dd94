"""The maps from keys to offsets, against a dict."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas import form
from barnabas.storage.cleaner.offset_map import ENTRY_BYTES, NOT_FOUND, ArrayOffsetMap, OffsetMap
from barnabas.storage.cleaner.vector_offset_map import VectorOffsetMap

KINDS: list[type[OffsetMap]] = [ArrayOffsetMap, *([VectorOffsetMap] if form.running() == form.COMPILED else [])]
KEYS = st.one_of(st.binary(max_size=6), st.binary(max_size=17), st.binary(min_size=14, max_size=40))
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@given(st.lists(KEYS, max_size=200), st.sampled_from((0.5, 0.9, 1.0)))
def test_it_is_a_dict_until_it_is_full(kind: type[OffsetMap], keys: list[bytes], load_factor: float) -> None:
    offset_map, model = kind(40 * ENTRY_BYTES, load_factor, 10_000), dict[bytes, int]()
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


@each_kind
def test_every_place_that_is_allowed_can_be_taken(kind: type[OffsetMap]) -> None:
    offset_map = kind(1_000 * ENTRY_BYTES, 1.0, 1 << 40)
    for number in range(1_000):
        assert not offset_map.is_full
        offset_map.put(b"%d" % number, number)
    assert offset_map.is_full
    assert [offset_map.get(b"%d" % number) for number in range(1_000)] == list(range(1_000))


@each_kind
def test_memory_follows_what_there_is_to_map(kind: type[OffsetMap]) -> None:
    assert kind(128 << 20, 0.9, 100).size_bytes < 10_000
    offset_map = kind(1 << 20, 0.9, 1 << 40)
    sizes = [offset_map.size_bytes]
    for number in range(offset_map.entries_max):
        offset_map.put(b"%d" % number, number)
        if offset_map.size_bytes != sizes[-1]:
            sizes.append(offset_map.size_bytes)
    assert len(sizes) == 3
    assert all(3.9 * before < after < 4.1 * before for before, after in pairwise(sizes))
    assert 0 <= sizes[-1] - (1 << 20) < 200 * ENTRY_BYTES


@each_kind
def test_a_map_that_grows_has_what_was_put(kind: type[OffsetMap]) -> None:
    offset_map, model = kind(1 << 20, 0.9, 1 << 40), dict[bytes, int]()
    for offset in range(30_000):
        key = b"%d" % (offset * 7_919 % 20_011)
        assert offset_map.put(key, offset) == model.get(key, NOT_FOUND)
        model[key] = offset
    assert offset_map.entries == len(model)
    assert all(offset_map.get(key) == offset for key, offset in model.items())
    assert offset_map.get(b"other") == NOT_FOUND


@each_kind
def test_it_grows_in_small_steps(kind: type[OffsetMap]) -> None:
    offset_map = kind(1 << 20, 0.9, 1 << 40)
    number = 0
    while not offset_map.is_crowded(1):
        offset_map.put(b"%d" % number, number)
        number += 1
    before = offset_map.size_bytes
    assert before // ENTRY_BYTES // 128 <= len(list(offset_map.growing())) <= before // ENTRY_BYTES // 128 + 1
    assert offset_map.size_bytes > 3 * before
    assert [offset_map.get(b"%d" % each) for each in range(number)] == list(range(number))


@each_kind
def test_a_map_without_room_for_a_key_is_refused(kind: type[OffsetMap]) -> None:
    with pytest.raises(ValueError, match="no room for a single key"):
        kind(ENTRY_BYTES, 0.9, 10)


@each_kind
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17, 36])
def test_keys_that_differ_in_one_byte_are_two(kind: type[OffsetMap], size: int) -> None:
    offset_map, keys = kind(1 << 16, 0.9, 1_000), {bytes(size), bytes(size + 1)}
    keys |= {bytes(at) + bytes([value]) + bytes(size - at - 1) for at in range(size) for value in (1, 0x7F, 0x80, 0xFF)}
    offsets = {key: offset for offset, key in enumerate(sorted(keys))}
    assert [offset_map.put(key, offset) for key, offset in offsets.items()] == [NOT_FOUND] * len(keys)
    assert {key: offset_map.get(key) for key in keys} == offsets

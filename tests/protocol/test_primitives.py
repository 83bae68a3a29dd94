"""Varints, strings and ids: round trips, the shapes of their bytes, and what is refused."""

import base64
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.primitives import (
    MAX_STRING_BYTES,
    MAX_TAGGED_FIELDS,
    ZERO_UUID,
    nullable_string,
    random_uuid,
    read_nullable_string,
    read_uvarint,
    read_varint,
    read_varlong,
    skip_tags,
    uuid_bytes,
    uuid_text,
    uvarint,
    varint_size,
    write_uvarint,
    write_varint,
    write_varlong,
)

bounded = settings(derandomize=True, database=None, max_examples=200, deadline=None)


@pytest.mark.parametrize(
    ("value", "data"), [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (0x7FFF_FFFF, "ffffffff07")]
)
def test_unsigned_varints_are_leb128(value: int, data: str) -> None:
    assert uvarint(value) == bytes.fromhex(data)
    assert read_uvarint(bytes.fromhex(data), 0) == (value, len(data) // 2)


@pytest.mark.parametrize(
    ("value", "data"), [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7e"), (-64, "7f"), (64, "8001")]
)
def test_signed_varints_are_zig_zag_coded(value: int, data: str) -> None:
    for write, read in ((write_varint, read_varint), (write_varlong, read_varlong)):
        out = bytearray()
        write(out, value)
        assert out == bytes.fromhex(data)
        assert read(out, 0) == (value, len(out))


@bounded
@given(st.integers(-(2**31), 2**31 - 1))
def test_varints_round_trip_and_know_their_size(value: int) -> None:
    out = bytearray(b"before")
    write_varint(out, value)
    assert read_varint(memoryview(out), 6) == (value, len(out))
    assert varint_size(value) == len(out) - 6


@bounded
@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs_round_trip_and_know_their_size(value: int) -> None:
    out = bytearray()
    write_varlong(out, value)
    assert read_varlong(bytes(out), 0) == (value, len(out))
    assert varint_size(value) == len(out)


@pytest.mark.parametrize(
    ("read", "broken"),
    [
        (read_uvarint, ["", "80", "ffffffff", "ffffffff08", "8080808008", "ffffffffff01", "8080808080"]),
        (read_varint, ["", "ff", "ffffffff10", "ffffffffffff"]),
        (read_varlong, ["ff" * 9, "ff" * 9 + "02", "80" * 11]),
        (read_nullable_string, ["", "00", "0001", "fffe", "7fff61", "0001ff"]),
        (skip_tags, ["", "01", "0100", "010005", "01000261", "ffffffff07"]),
    ],
)
def test_truncated_or_oversized_values_are_refused(read: Callable[[bytes, int], object], broken: list[str]) -> None:
    for data in broken:
        with pytest.raises(DecodeError):
            read(bytes.fromhex(data), 0)


def test_a_negative_varint_and_a_string_longer_than_its_length_can_say_are_not_written() -> None:
    with pytest.raises(EncodeError):
        write_uvarint(bytearray(), -1)
    assert len(nullable_string("x" * MAX_STRING_BYTES)) == 2 + MAX_STRING_BYTES
    with pytest.raises(EncodeError):
        nullable_string("x" * (MAX_STRING_BYTES + 1))


@bounded
@given(st.none() | st.text())
def test_nullable_strings_round_trip(text: str | None) -> None:
    data = nullable_string(text)
    assert read_nullable_string(memoryview(b"x" + data), 1) == (text, len(data) + 1)


def test_skipping_tags_ends_behind_the_last_one() -> None:
    section = bytes.fromhex("02 00 03 616263 05 00")
    assert skip_tags(section + b"rest", 0) == len(section)
    assert skip_tags(b"\0rest", 0) == 1


def test_more_tags_than_kafka_reads_are_refused() -> None:
    section = uvarint(MAX_TAGGED_FIELDS) + b"\x05\0" * MAX_TAGGED_FIELDS
    assert skip_tags(section, 0) == len(section)
    with pytest.raises(DecodeError, match="10001 tagged fields"):
        skip_tags(uvarint(MAX_TAGGED_FIELDS + 1) + b"\x05\0" * (MAX_TAGGED_FIELDS + 1), 0)


@bounded
@given(st.binary(min_size=16, max_size=16))
def test_ids_print_as_22_characters_of_url_safe_base64(raw: bytes) -> None:
    text = uuid_text(raw)
    assert len(text) == 22
    assert base64.urlsafe_b64decode(text + "==") == raw
    assert uuid_bytes(text) == raw


def test_the_zero_id_prints_as_kafka_prints_it() -> None:
    assert uuid_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid.UUID(bytes=ZERO_UUID).int == 0


@pytest.mark.parametrize("text", ["", "short", "A" * 23, "A" * 21 + "B", "é" * 22, "A" * 20 + "=="])
def test_other_texts_are_no_ids(text: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        uuid_bytes(text)


def test_a_random_uuid_has_version_4_and_its_text_no_dash_in_front() -> None:
    drawn = [b"\xfb" * 16, b"\xff" * 16]  # the text of the first one begins with a dash
    found = random_uuid(lambda size: drawn.pop(0)[:size])
    assert uuid.UUID(bytes=found).version == 4
    assert found == uuid.UUID(bytes=b"\xff" * 16, version=4).bytes
    assert not drawn

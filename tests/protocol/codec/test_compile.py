"""Compiled codecs, one rule at a time: what the bytes are, what is refused, and what Kafka lets pass."""

import linecache
import traceback
from typing import Any

import pytest

from barnabas.protocol.codec import reference
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import (
    BOOL,
    BYTES,
    INT8,
    INT16,
    INT32,
    RECORDS,
    STRING,
    UUID,
    Request,
    Stored,
    Struct,
    array,
    field,
)
from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.primitives import MAX_ARRAY_ELEMENTS, MAX_TAGGED_FIELDS, Buffer, uvarint


class Point(Struct):
    x: int = field(INT8)
    y: int = field(INT8, versions="1+", default=0)


class Sample(Request, key=999, versions="0-3", flexible="2+"):
    flag: bool = field(BOOL)
    name: str = field(STRING)
    note: str | None = field(STRING, nullable="1+", default="")
    numbers: list[int] = field(array(INT32), default=[])
    points: list[Point] | None = field(array(Point), nullable="1+", default=[])
    records: Buffer | None = field(RECORDS, nullable="0+", default=None)
    added: int = field(INT16, versions="1+", default=-1)
    hint: int = field(INT16, versions="1+", default=-1, ignorable=True)
    corner: Point | None = field(Point, versions="3+", nullable="3+", default=None)


class Tagged(Request, key=998, versions="0-1", flexible="0+"):
    number: int = field(INT8)
    tagged: str = field(STRING, default="", tag=0)
    later: int = field(INT16, versions="1+", default=0, tag=3)
    point: Point | None = field(Point, default=None, tag=1)


class Ids(Request, key=997, versions="0", flexible="0+"):
    ids: list[bytes] = field(array(UUID))
    names: list[str] = field(array(STRING))
    data: bytes = field(BYTES)


class Holder(Struct):
    point: Point | None = field(Point, nullable="0+", default=None)


class Holders(Request, key=996, versions="0", flexible="0+"):
    holders: list[Holder] = field(array(Holder))


class Kept(Stored, versions="0", flexible="0+"):
    number: int = field(INT8)
    point: Point | None = field(Point, nullable="0+", tag=0)


def hexed(message: Any, version: int) -> str:
    encoded = codec(type(message), version).encode(message)
    assert encoded == reference.encode(message, version)
    assert codec(type(message), version).decode(encoded) == (message, len(encoded))
    return encoded.hex()


# --- bytes ---


def test_classic_versions_have_wide_lengths_and_no_tags() -> None:
    message = Sample(flag=True, name="ab", numbers=[1], points=[Point(x=5)], records=b"xyz")
    assert hexed(message, 0) == "01 0002 6162 0000 00000001 00000001 00000001 05 00000003 78797a".replace(" ", "")


def test_flexible_versions_have_compact_lengths_and_a_tag_section_per_struct() -> None:
    message = Sample(flag=False, name="ab", note=None, numbers=[1], points=[Point(x=5, y=6)], added=7)
    assert hexed(message, 2) == "00 036162 00 02 00000001 02 050600 00 0007 ffff 00".replace(" ", "")


def test_a_nullable_struct_is_marked_minus_one_or_one() -> None:
    assert hexed(Sample(flag=False, name=""), 3).endswith("ffffffff" + "ff" + "00")
    assert hexed(Sample(flag=False, name="", corner=Point(x=1, y=2)), 3).endswith("ffffffff" + "01010200" + "00")


def test_an_array_of_nothing_but_nulls_is_as_short_as_it_looks() -> None:
    assert hexed(Holders(holders=[Holder(), Holder()]), 0) == "03 ff00 ff00 00".replace(" ", "")


def test_tagged_fields_are_sorted_and_left_out_when_they_hold_their_default() -> None:
    assert hexed(Tagged(number=1), 1) == "0100"
    assert hexed(
        Tagged(number=1, later=9, tagged="a", point=Point(x=2)), 1
    ) == "01 03 00 02 0261 01 03 020000 03 02 0009".replace(" ", "")


def test_an_unset_struct_in_a_tag_is_the_same_as_one_full_of_defaults() -> None:
    assert codec(Tagged, 1).encode(Tagged(number=1, point=Point(x=0, y=0))).hex() == "0100"


def test_a_nullable_struct_in_a_tag_is_marked_zero_or_one() -> None:
    assert hexed(Kept(number=1, point=None), 0) == "01 01 00 01 00".replace(" ", "")
    assert hexed(Kept(number=1, point=Point(x=2)), 0) == "01 01 00 03 01 02 00".replace(" ", "")
    assert hexed(Kept(number=1, point=Point(x=0)), 0) == "0100"


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 300, 0x7FFF])
def test_lengths_grow_into_several_bytes(length: int) -> None:
    message = Ids(ids=[bytes([n % 256]) * 16 for n in range(length % 300)], names=["n"] * length, data=b"d" * length)
    assert len(hexed(message, 0)) > length
    assert hexed(Sample(flag=True, name="é" * (length // 2), numbers=list(range(length))), 2)


def test_decoding_starts_and_ends_at_the_given_positions() -> None:
    encoded = codec(Tagged, 0).encode(Tagged(number=7))
    assert codec(Tagged, 0).decode(b"before" + encoded + b"after", 6) == (Tagged(number=7), 8)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_are_a_view_into_the_buffer_and_bytes_are_a_copy(kind: Any) -> None:
    buffer = bytearray(codec(Sample, 2).encode(Sample(flag=True, name="n", records=b"records")))
    message, _ = codec(Sample, 2).decode(kind(buffer))
    assert isinstance(message.records, memoryview)
    assert bytes(message.records) == b"records"
    data, _ = codec(Ids, 0).decode(kind(bytearray(codec(Ids, 0).encode(Ids(ids=[], names=[], data=b"data")))))
    assert type(data.data) is bytes


def test_parts_hand_records_on_uncopied() -> None:
    records = memoryview(b"records")
    parts = codec(Sample, 2).encode_parts(Sample(flag=True, name="n", records=records))
    assert any(part is records for part in parts)
    out = bytearray(b"before")
    codec(Sample, 2).encode_into(Sample(flag=True, name="n", records=records), out)
    assert out == b"before" + b"".join(parts)


# --- what is refused when decoding ---


@pytest.mark.parametrize(
    ("struct", "version", "data", "why"),
    [
        (Sample, 2, "00 00", r"^Sample\.name must not be null$"),
        (Sample, 0, "00 ffff", r"^Sample\.name must not be null$"),
        (Sample, 2, "00 01 01 00", r"^Sample\.numbers must not be null$"),
        (Sample, 1, "00 0000 fffe", "claims -2 bytes"),
        (Sample, 1, "00 0000 0000 fffffffe", "claims -2 elements"),
        (Sample, 2, "00 0a 61", r"^Sample\.name claims 9 bytes, but 1 are left$"),
        (Sample, 2, "00 01 01 ffffffff07", r"^Sample\.numbers claims 2147483646 elements, but 0 bytes are left$"),
        (Sample, 2, "00 01 01 03 00000001 000000", "claims 2 elements, but 7 bytes"),
        pytest.param(Sample, 2, "00 818002" + "61" * 0x8000, "the wire carries 32767", id="a string of 32768 bytes"),
        (Sample, 2, "00 02 ff", "utf-8"),
        (Tagged, 1, "", "^Tagged v1: "),
        (Tagged, 0, "01 01 03 02 0009", "tagged field 3 is not what this version defines"),
        *((Tagged, 1, f"01 01 {tag}", "not of the size") for tag in ("03 01 0009", "03 03 000900", "00 03 0261 00")),
        *((Tagged, 1, data, None) for data in ("01 01", "01 01 00", "01 01 00 05 0261")),
        *((Tagged, 1, data, None) for data in ("01 ffffffff07 00 00", "01 01 07 ffffffff07")),
    ],
)
def test_impossible_values_are_refused(struct: type[Struct], version: int, data: str, why: str | None) -> None:
    with pytest.raises(DecodeError, match=why):
        codec(struct, version).decode(bytes.fromhex(data))


@pytest.mark.parametrize("version", [0, 2])
def test_an_array_is_read_up_to_kafkas_limit(version: int) -> None:
    sample_codec = codec(Sample, version)
    longest = Sample(flag=True, name="", numbers=[7] * MAX_ARRAY_ELEMENTS)
    assert sample_codec.decode(sample_codec.encode(longest))[0] == longest
    longest.numbers.append(7)
    with pytest.raises(DecodeError, match="claims 1000001 elements; at most 1000000 are read"):
        sample_codec.decode(sample_codec.encode(longest))


def test_structs_beyond_the_limit_of_an_array_are_refused_before_the_first_is_read() -> None:
    before = bytes(1 + 2 + 2 + 4)  # flag, name, note and numbers of version 0
    data = before + (MAX_ARRAY_ELEMENTS + 1).to_bytes(4, "big") + b"\x05" * (MAX_ARRAY_ELEMENTS + 1)
    with pytest.raises(DecodeError, match=r"Sample\.points claims 1000001 elements"):
        codec(Sample, 0).decode(data)


# --- tags, as Kafka takes them ---


def test_unknown_tags_of_a_request_are_skipped() -> None:
    data = bytes.fromhex("01 02 05 01 ff 00 02 0261")
    assert codec(Tagged, 0).decode(data) == (Tagged(number=1, tagged="a"), len(data))
    data = bytes.fromhex("00 01 01 01 02 0506 02 09 01 ff 0a 00 00 ffff ffff 01 07 00")
    expected = Sample(flag=False, name="", points=[Point(x=5, y=6)])
    assert codec(Sample, 2).decode(data) == (expected, len(data))


def test_tags_may_come_in_any_order_and_the_last_of_a_kind_counts() -> None:
    data = bytes.fromhex("01 03 03 02 0009 00 02 0261 00 02 0262")
    assert codec(Tagged, 1).decode(data)[0] == Tagged(number=1, tagged="b", later=9)


@pytest.mark.parametrize(
    "message", [Tagged(number=1), Ids(ids=[], names=[], data=b""), Kept(number=1, point=Point(x=0))]
)
def test_tagged_fields_are_read_up_to_kafkas_limit(message: Struct) -> None:
    message_codec = codec(type(message), 0)
    fields = message_codec.encode(message)[:-1]  # without the section of tagged fields, in which there is none

    def with_tags(count: int) -> bytes:
        unknown = b"\x09\0"  # number 9, nothing in it
        return fields + uvarint(count) + unknown * count

    longest = with_tags(MAX_TAGGED_FIELDS)
    assert message_codec.decode(longest)[1] == len(longest)
    with pytest.raises(DecodeError, match="10001 tagged fields; at most 10000 are read"):
        message_codec.decode(with_tags(MAX_TAGGED_FIELDS + 1))


def test_stored_structs_carry_unknown_tags() -> None:
    kept = Kept(number=1, point=Point(x=0), unknown_tags=((7, b"seven"), (300, b"")))
    assert hexed(kept, 0) == "01 02 07 05 736576656e ac02 00".replace(" ", "")


# --- what is refused when encoding ---


def test_a_value_in_a_field_the_version_lacks_is_refused() -> None:
    with pytest.raises(EncodeError, match=r"Sample.added holds a value, but version 0 has no such field"):
        codec(Sample, 0).encode(Sample(flag=True, name="", added=5))
    with pytest.raises(EncodeError, match=r"Point.y"):
        codec(Sample, 0).encode(Sample(flag=True, name="", points=[Point(x=1, y=2)]))
    with pytest.raises(EncodeError, match=r"Sample.corner"):
        codec(Sample, 2).encode(Sample(flag=True, name="", corner=Point(x=1)))


def test_an_ignorable_field_is_just_left_out() -> None:
    assert codec(Sample, 0).encode(Sample(flag=True, name="", hint=5)) == codec(Sample, 0).encode(
        Sample(flag=True, name="")
    )


@pytest.mark.parametrize(
    "message",
    [
        Sample(flag=True, name="", note=None),
        Sample(flag=True, name="", points=None),
        Sample(flag=True, name=None),  # type: ignore[arg-type]  # because that is the mistake
        Sample(flag=True, name="x" * 0x8000),
        Sample(flag=True, name="\ud800"),
        Sample(flag=True, name="", numbers=[1 << 31]),
        Sample(flag=True, name="", numbers=["1"]),  # type: ignore[list-item]  # because that is the mistake
    ],
    ids=repr,
)
def test_an_oversized_value_is_an_encode_error(message: Sample) -> None:
    with pytest.raises(EncodeError):
        codec(Sample, 0).encode(message)


def test_a_compact_string_is_no_longer_than_a_classic_one() -> None:
    with pytest.raises(EncodeError, match="the wire carries 32767"):
        codec(Sample, 2).encode(Sample(flag=True, name="x" * 0x8000))


# --- codecs ---


def test_a_codec_is_made_once() -> None:
    assert codec(Sample, 1) is codec(Sample, 1)
    assert codec(Sample, 1) is not codec(Sample, 2)


def test_a_version_that_does_not_exist_has_no_codec() -> None:
    with pytest.raises(ValueError, match="Sample has no version 4, only 0-3"):
        codec(Sample, 4)


def test_a_traceback_shows_the_generated_line() -> None:
    codec(Sample, 1).encode(Sample(flag=True, name=""))
    assert "".join(linecache.getlines("<encode Sample v1>")).startswith("def encode(m):")
    with pytest.raises(EncodeError) as caught:
        codec(Sample, 1).encode(Sample(flag=True, name=3))  # type: ignore[arg-type]  # because that is the mistake
    assert "= m.name.encode()" in "".join(traceback.format_exception(caught.value))

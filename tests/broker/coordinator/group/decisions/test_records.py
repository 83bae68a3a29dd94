"""Group records to bytes and back, as docs/formats/consumer-offsets.md says, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.classic.model import (
    CommittedOffset,
    GroupRecord,
    GroupStored,
    OffsetCommitted,
    StoredGroup,
    StoredMember,
)
from barnabas.broker.coordinator.group.decisions.records import decode, encode
from barnabas.protocol.errors import DecodeError, EncodeError
from tests.support.source_tree import ROOT

_NOW_MS = 1_700_000_000_000
_TEXT = st.text(max_size=20)
_INT32 = st.integers(-(2**31), 2**31 - 1)
_INT64 = st.integers(-(2**63), 2**63 - 1)


def _members() -> st.SearchStrategy[StoredMember]:
    return st.builds(
        StoredMember,
        _TEXT,
        st.none() | _TEXT,
        _TEXT,
        _TEXT,
        st.integers(0, 2**31 - 1),
        _INT32,
        st.binary(max_size=30),
        st.binary(max_size=30),
    )


_GROUPS = st.builds(
    StoredGroup,
    _TEXT,
    _INT32,
    st.none() | _TEXT,
    st.none() | _TEXT,
    _INT64,
    st.lists(_members(), max_size=3).map(tuple),
)
_OFFSETS = st.builds(CommittedOffset, _INT64, _INT32, _TEXT, _INT64, st.just(-1), st.binary(min_size=16, max_size=16))
_RECORDS = st.builds(GroupStored, _TEXT, st.none() | _GROUPS) | st.builds(
    OffsetCommitted, _TEXT, _TEXT, _INT32, st.none() | _OFFSETS
)


@given(_RECORDS)
def test_a_record_comes_back_as_it_was(record: GroupRecord) -> None:
    assert decode(*encode(record)) == record


def test_the_key_of_very_old_commits_is_read() -> None:
    key = bytes.fromhex("000000016700017400000000")
    value = bytes.fromhex("0000000000000000002a00000000018bcfe56800")
    assert decode(key, value) == OffsetCommitted("g", "t", 0, CommittedOffset(42, -1, "", _NOW_MS))


def test_a_member_of_version_0_has_one_timeout_for_both() -> None:
    value = bytes.fromhex("0000 0001 63 00000001 ffff ffff 00000001 00016d000163000168 00002710 00000000 00000000")
    record = decode(b"\x00\x02\x00\x01g", value)
    assert isinstance(record, GroupStored)
    assert record.stored is not None
    assert record.stored.members[0][4:6] == (10_000, 10_000)


@pytest.mark.parametrize("key_type", [9, 18, 999])
def test_records_of_other_kinds_of_groups_are_passed_over(key_type: int) -> None:
    assert decode(key_type.to_bytes(2, "big") + b"\x00\x01g", b"whatever") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\x00", None),
        (b"\x00\x01\x00\x05g", None),
        (bytes.fromhex("000100016700017400000000"), b"\x00\x09"),
        (bytes.fromhex("000100016700017400000000"), b"\x00\x04\x00"),
        (b"\x00\x02\x00\x01g", b""),
    ],
)
def test_damage_is_reported(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        decode(key, value)


def test_a_name_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError):
        encode(GroupStored("g" * 40_000, None))


# --- the page of the format ---

_PAGE = ROOT / "docs" / "formats" / "consumer-offsets.md"
_MEMBER = StoredMember("m", None, "c", "/127.0.0.1", 60_000, 10_000, b"s", b"a")
_OFFSET = CommittedOffset(42, 5, "", _NOW_MS)
_AS_KAFKA_4_0 = "the same as Kafka 4.0 writes it"

_MEANT: dict[str, GroupRecord] = {
    "offset 42, leader epoch 5": OffsetCommitted("g", "t", 0, _OFFSET),
    _AS_KAFKA_4_0: OffsetCommitted("g", "t", 0, _OFFSET),
    "the same with topic id 0x01 × 16": OffsetCommitted("g", "t", 0, _OFFSET._replace(topic_id=b"\1" * 16)),
    "offset 42, metadata `m`, expires a millisecond later": OffsetCommitted(
        "g", "t", 0, CommittedOffset(42, -1, "m", _NOW_MS, _NOW_MS + 1)
    ),
    "the commit deleted": OffsetCommitted("g", "t", 0, None),
    "empty group, just made": GroupStored("g", StoredGroup("", 0, None, None, _NOW_MS)),
    "generation 1, `range`, one member `m`": GroupStored(
        "g", StoredGroup("consumer", 1, "range", "m", _NOW_MS, (_MEMBER,))
    ),
    "the group deleted": GroupStored("g", None),
}


def _rows() -> dict[str, tuple[bytes, bytes | None]]:
    worked = _PAGE.read_text().split("## Worked bytes")[1]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in worked.splitlines() if line.startswith("|")]
    return {
        what: (bytes.fromhex(key.strip("`")), None if value == "null" else bytes.fromhex(value.strip("`")))
        for what, key, value in rows[2:]
    }


def test_the_page_shows_every_kind_of_record() -> None:
    assert list(_rows()) == list(_MEANT)


@pytest.mark.parametrize("what", _MEANT)
def test_the_bytes_of_the_page_are_those_of_the_code(what: str) -> None:
    key, value = _rows()[what]
    assert decode(key, value) == _MEANT[what]
    if what != _AS_KAFKA_4_0:
        assert encode(_MEANT[what]) == (key, value)

"""Group records to bytes and back, down to the byte where the format is written down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.classic.model import (
    CommittedOffset,
    GroupRecord,
    GroupStored,
    OffsetCommitted,
    StoredGroup,
    StoredMember,
)
from barnabas.broker.coordinator.group.records import decode, encode
from barnabas.protocol.errors import DecodeError, EncodeError

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


def test_an_offset_is_written_as_version_4() -> None:
    key, value = encode(OffsetCommitted("g", "t", 0, CommittedOffset(42, 5, "", _NOW_MS)))
    assert key.hex() == "000100016700017400000000"
    assert value is not None
    assert value.hex() == "0004000000000000002a00000005010000018bcfe5680000"


def test_version_3_of_an_offset_is_read() -> None:
    key = bytes.fromhex("000100016700017400000000")
    value = bytes.fromhex("0003000000000000002a0000000500000000018bcfe56800")
    assert decode(key, value) == OffsetCommitted("g", "t", 0, CommittedOffset(42, 5, "", _NOW_MS))


def test_the_key_of_very_old_commits_is_read() -> None:
    key = bytes.fromhex("000000016700017400000000")
    value = bytes.fromhex("0000000000000000002a00000000018bcfe56800")
    assert decode(key, value) == OffsetCommitted("g", "t", 0, CommittedOffset(42, -1, "", _NOW_MS))


def test_an_expiry_of_its_own_is_written_as_version_1_and_kept() -> None:
    committed = CommittedOffset(42, -1, "m", _NOW_MS, _NOW_MS + 1)
    key, value = encode(OffsetCommitted("g", "t", 0, committed))
    assert value is not None
    assert value[:2] == b"\x00\x01"
    assert decode(key, value) == OffsetCommitted("g", "t", 0, committed)


def test_a_group_is_written_as_version_3() -> None:
    member = StoredMember("m", None, "c", "/127.0.0.1", 60_000, 10_000, b"s", b"a")
    key, value = encode(GroupStored("g", StoredGroup("consumer", 1, "range", "m", _NOW_MS, (member,))))
    assert key.hex() == "0002000167"
    assert value is not None
    assert value.hex() == (
        "0003" "0008636f6e73756d6572" "00000001" "000572616e6765" "00016d" "0000018bcfe56800" "00000001"
        "00016d" "ffff" "000163" "000a2f3132372e302e302e31" "0000ea60" "00002710" "0000000173" "0000000161"
    )  # fmt: skip


def test_a_member_of_version_0_has_one_timeout_for_both() -> None:
    value = bytes.fromhex("0000" "0001" "63" "00000001" "ffff" "ffff" "00000001" "00016d000163000168" "00002710" "00000000" "00000000")  # fmt: skip  # noqa: E501  (one value on one line)
    record = decode(b"\x00\x02\x00\x01g", value)
    assert isinstance(record, GroupStored)
    assert record.stored is not None
    assert record.stored.members[0][4:6] == (10_000, 10_000)


@pytest.mark.parametrize("key_type", [9, 15, 17, 999])
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
def test_damage_is_told(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        decode(key, value)


def test_a_name_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError):
        encode(GroupStored("g" * 40_000, None))

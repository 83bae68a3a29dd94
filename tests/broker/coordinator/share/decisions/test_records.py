"""The records of `__share_group_state`, as values and as bytes."""

import pytest

from barnabas.broker.coordinator.share.decisions.model import ShareRecord, ShareState, SnapshotWritten, UpdateWritten
from barnabas.broker.coordinator.share.decisions.records import decode, encode
from barnabas.broker.partitions.share.persister import SharePartitionKey, StateBatch
from barnabas.protocol.errors import DecodeError

KEY = SharePartitionKey("g", bytes(15) + b"\x01", 3)
STATE = ShareState(1, 2, 3, 4, 5, (StateBatch(4, 9, 2, 1),), 6, 7)
RECORDS: list[tuple[ShareRecord, str, str | None]] = [
    (
        SnapshotWritten(KEY, STATE),
        "0000000167" + "00" * 15 + "0100000003",
        "0000" + "000000010000000200000003" + "0000000000000004" + "00000000000000060000000000000007"
        "02000000000000000400000000000000090200010001000400000005",
    ),
    (
        UpdateWritten(KEY, 1, 3, 4, -1, ()),
        "0001000167" + "00" * 15 + "0100000003",
        "0000" + "0000000100000003" + "0000000000000004" + "0100",
    ),
    (SnapshotWritten(KEY, None), "0000000167" + "00" * 15 + "0100000003", None),
]


@pytest.mark.parametrize(("record", "key", "value"), RECORDS)
def test_a_record_has_kafkas_bytes(record: ShareRecord, key: str, value: str | None) -> None:
    found_key, found_value = encode(record)
    assert (found_key.hex(), found_value and found_value.hex()) == (key, value)
    assert decode(found_key, found_value) == record


def test_records_of_unknown_types_are_skipped() -> None:
    assert decode(b"\x00\x07", b"") is None
    assert decode(None, b"") is None
    update, _ = encode(RECORDS[1][0])
    assert decode(update, None) is None


@pytest.mark.parametrize(("record", "key", "value"), RECORDS[:2])
def test_tagged_fields_of_a_newer_release_are_ignored(record: ShareRecord, key: str, value: str) -> None:
    known = "00" + "0400000005"  # tag 0, the delivery complete count
    tags, newer = ("01" + known, "02" + known + "0901ff") if value.endswith("01" + known) else ("00", "01" + "0901ff")
    assert decode(bytes.fromhex(key), bytes.fromhex(value.removesuffix(tags) + newer)) == record


def test_a_value_of_an_unknown_version_is_refused() -> None:
    key, _ = encode(RECORDS[0][0])
    with pytest.raises(DecodeError):
        decode(key, b"\x00\x09")

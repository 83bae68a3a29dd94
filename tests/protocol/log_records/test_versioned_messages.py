"""Keys and values of the coordinators' logs, byte by byte, and what is refused."""

from collections.abc import Iterator

import pytest

from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.log_records import group, transaction
from barnabas.protocol.log_records.group import GroupMetadataKey, OffsetCommitKey, OffsetCommitValue
from barnabas.protocol.log_records.transaction import PartitionsSchema, TransactionLogKey, TransactionLogValue
from barnabas.protocol.log_records.versioned_messages import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    encode_value_in_steps,
)

NOW_MS = 1_700_000_000_000


def transaction_value(client_transaction_version: int = 0) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=4000,
        producer_epoch=3,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[0, 1])],
        transaction_last_update_timestamp_ms=NOW_MS + 5,
        transaction_start_timestamp_ms=NOW_MS,
        client_transaction_version=client_transaction_version,
    )


def offset_value() -> OffsetCommitValue:
    return OffsetCommitValue(offset=42, leader_epoch=5, metadata="", commit_timestamp=NOW_MS)


@pytest.mark.parametrize(
    ("keys", "key", "data"),
    [
        (group.KEYS, OffsetCommitKey(group="g", topic="t", partition=0), "000100016700017400000000"),
        (group.KEYS, GroupMetadataKey(group="g"), "0002000167"),
        (transaction.KEYS, TransactionLogKey(transactional_id="tx"), "000000027478"),
    ],
)
def test_keys_have_kafkas_bytes(keys: dict[int, type[Stored]], key: Stored, data: str) -> None:
    assert encode_key(key).hex() == data
    assert decode_key(keys, bytes.fromhex(data)) == key


@pytest.mark.parametrize(
    ("value", "version", "data"),
    [
        (offset_value(), 3, "0003000000000000002a0000000500000000018bcfe56800"),
        (
            transaction_value(),
            0,
            "00000000000000000fa000030000ea6001000000010001740000000200000000000000010000018bcfe568050000018bcfe56800",
        ),
        (
            transaction_value(client_transaction_version=2),
            1,
            "00010000000000000fa000030000ea6001020274030000000000000001000000018bcfe568050000018bcfe568000102020002",
        ),
    ],
)
def test_values_have_kafkas_bytes(value: Stored, version: int, data: str) -> None:
    assert encode_value(value, version).hex() == data
    assert decode_value(type(value), bytes.fromhex(data)) == value


def test_a_key_of_an_unknown_type_is_none() -> None:
    assert decode_key(group.KEYS, bytes.fromhex("7fff0000")) is None
    assert decode_key(group.KEYS, bytes.fromhex("ffff0000")) is None


def test_a_value_of_an_unknown_version_is_refused() -> None:
    with pytest.raises(DecodeError, match="OffsetCommitValue has no version 5, only 0-4"):
        decode_value(OffsetCommitValue, bytes.fromhex("0005") + bytes(40))


@pytest.mark.parametrize("data", [b"", b"\0"])
def test_input_shorter_than_a_prefix_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_key(group.KEYS, data)
    with pytest.raises(DecodeError):
        decode_value(OffsetCommitValue, data)


def test_tags_of_a_newer_release_are_written_again() -> None:
    value = transaction_value()
    value.unknown_tags = ((9, b"new"),)
    encoded = encode_value(value, 1)
    assert decode_value(TransactionLogValue, encoded).unknown_tags == ((9, b"new"),)
    assert encode_value(decode_value(TransactionLogValue, encoded), 1) == encoded


def test_types_of_keys_and_values_match() -> None:
    for keys, values in ((group.KEYS, group.VALUES), (transaction.KEYS, transaction.VALUES)):
        assert keys.keys() == values.keys()
        for record_type in keys:
            assert keys[record_type].__schema__.key == values[record_type].__schema__.key == record_type
            assert keys[record_type].__name__.removesuffix("Key") == values[record_type].__name__.removesuffix("Value")


def test_a_value_that_is_encoded_in_steps_has_the_same_bytes() -> None:
    value = transaction_value()
    encoded: list[bytes] = []

    def steps() -> Iterator[None]:
        encoded.append((yield from encode_value_in_steps(value, 0)))

    assert len(list(steps())) > 1
    assert encoded == [encode_value(value, 0)]

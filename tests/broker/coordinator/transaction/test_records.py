"""Transaction records to bytes and back, down to the byte where the format is written down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.transaction.model import Transaction, TransactionStored
from barnabas.broker.coordinator.transaction.records import decode, encode
from barnabas.broker.coordinator.transaction.states import TransactionState
from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.log_records.prefixed import encode_key, encode_value
from barnabas.protocol.log_records.transaction import PartitionsSchema, TransactionLogKey, TransactionLogValue

_NOW_MS = 1_700_000_000_000
_DURABLE = list(TransactionState)[:6]
_INT16 = st.integers(-1, 2**15 - 1)
_INT64 = st.integers(-1, 2**63 - 1)
_NAMES = st.text(max_size=20)


@st.composite
def _stored(draw: st.DrawFn) -> Transaction:
    state = draw(st.sampled_from(_DURABLE))
    partitions = st.frozensets(st.tuples(_NAMES, st.integers(0, 2**31 - 1)), max_size=6)
    return Transaction(
        transactional_id=draw(_NAMES),
        producer_id=draw(_INT64),
        producer_epoch=draw(_INT16),
        previous_producer_id=draw(_INT64),
        next_producer_id=draw(_INT64),
        next_producer_epoch=draw(_INT16),
        timeout_ms=draw(st.integers(1, 2**31 - 1)),
        state=state,
        partitions=frozenset() if state is TransactionState.EMPTY else draw(partitions),
        start_timestamp_ms=draw(_INT64),
        last_update_timestamp_ms=draw(_INT64),
        client_transaction_version=draw(st.integers(0, 2)),
    )


@given(_stored(), st.integers(1, 2))
def test_a_record_comes_back_as_it_was(txn: Transaction, transaction_version: int) -> None:
    record = TransactionStored(txn.transactional_id, txn)
    assert decode(*encode(record, transaction_version)) == record


@given(_stored())
def test_version_0_keeps_all_but_what_came_later(txn: Transaction) -> None:
    record = decode(*encode(TransactionStored(txn.transactional_id, txn), 0))
    assert record is not None
    assert record.stored is not None
    later = ("previous_producer_id", "next_producer_id", "next_producer_epoch")
    assert all(getattr(record.stored, name) == -1 for name in later)
    for name in set(Transaction._fields) - {*later, "client_transaction_version"}:
        assert getattr(record.stored, name) == getattr(txn, name)


def _ongoing(**changes: object) -> TransactionStored:
    values: dict[str, object] = {
        "transactional_id": "x",
        "producer_id": 4000,
        "producer_epoch": 3,
        "timeout_ms": 60_000,
        "state": TransactionState.ONGOING,
        "partitions": frozenset({("t", 1), ("u", 0), ("t", 0)}),
        "start_timestamp_ms": _NOW_MS,
        "last_update_timestamp_ms": _NOW_MS,
    }
    return TransactionStored("x", Transaction(**{**values, **changes}))  # type: ignore[arg-type]  # any field, by name


@given(_stored())
def test_version_1_is_what_its_schema_makes_of_it(txn: Transaction) -> None:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(txn.partitions):
        by_topic.setdefault(topic, []).append(partition)
    topics = [PartitionsSchema(topic=topic, partition_ids=partitions) for topic, partitions in by_topic.items()]
    value = TransactionLogValue(
        producer_id=txn.producer_id,
        previous_producer_id=txn.previous_producer_id,
        next_producer_id=txn.next_producer_id,
        producer_epoch=txn.producer_epoch,
        next_producer_epoch=txn.next_producer_epoch,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_status=txn.state.id,
        transaction_partitions=None if txn.state is TransactionState.EMPTY else topics,
        transaction_last_update_timestamp_ms=txn.last_update_timestamp_ms,
        transaction_start_timestamp_ms=txn.start_timestamp_ms,
        client_transaction_version=txn.client_transaction_version,
    )
    key = TransactionLogKey(transactional_id=txn.transactional_id)
    assert encode(TransactionStored(txn.transactional_id, txn), 1) == (encode_key(key), encode_value(value, 1))


def test_the_key_is_the_id() -> None:
    assert encode(TransactionStored("x", None), 2) == (bytes.fromhex("0000000178"), None)


def test_version_0_down_to_the_byte() -> None:
    _, value = encode(_ongoing(), 0)
    assert value is not None
    assert value.hex() == (
        "0000" "0000000000000fa0" "0003" "0000ea60" "01"
        "00000002" "000174" "00000002" "00000000" "00000001" "000175" "00000001" "00000000"
        "0000018bcfe56800" "0000018bcfe56800"
    )  # fmt: skip


def test_version_1_down_to_the_byte() -> None:
    record = _ongoing(
        previous_producer_id=4000, next_producer_id=5000, next_producer_epoch=7, client_transaction_version=2
    )
    _, value = encode(record, 2)
    assert value is not None
    assert value.hex() == (
        "0001" "0000000000000fa0" "0003" "0000ea60" "01"
        "03" "0274" "03" "00000000" "00000001" "00" "0275" "02" "00000000" "00"
        "0000018bcfe56800" "0000018bcfe56800"
        "04" "00" "08" "0000000000000fa0" "01" "08" "0000000000001388" "02" "02" "0002" "03" "02" "0007"
    )  # fmt: skip


def test_partitions_are_null_in_empty_alone() -> None:
    _, empty = encode(_ongoing(state=TransactionState.EMPTY, partitions=frozenset()), 2)
    _, complete = encode(_ongoing(state=TransactionState.COMPLETE_COMMIT, partitions=frozenset()), 2)
    assert empty is not None
    assert complete is not None
    assert (empty[16:18], complete[16:18]) == (b"\x00\x00", b"\x04\x01")  # state, count + 1


def test_an_epoch_fence_that_was_begun_is_still_open() -> None:
    key, value = encode(_ongoing(), 2)
    assert value is not None
    fenced = value[:16] + b"\x07" + value[17:]
    assert decode(key, fenced) == _ongoing()


def test_dead_is_gone() -> None:
    key, value = encode(_ongoing(), 2)
    assert value is not None
    assert decode(key, value[:16] + b"\x06" + value[17:]) == TransactionStored("x", None)


def test_records_of_another_kind_are_passed_over() -> None:
    assert decode(b"\x00\x01\x00\x01x", b"whatever") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\x00", None),
        (b"\x00\x00\x00\x05x", None),
        (b"\x00\x00\x00\x01x", b""),
        (b"\x00\x00\x00\x01x", b"\x00\x02"),
        (b"\x00\x00\x00\x01x", b"\x00\x01\x00"),
    ],
)
def test_damage_is_told(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        decode(key, value)


def test_an_unknown_state_is_told() -> None:
    key, value = encode(_ongoing(), 2)
    assert value is not None
    with pytest.raises(DecodeError, match="'x' has the unknown transaction status 8"):
        decode(key, value[:16] + b"\x08" + value[17:])


def test_an_id_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError):
        encode(TransactionStored("x" * 40_000, None), 2)

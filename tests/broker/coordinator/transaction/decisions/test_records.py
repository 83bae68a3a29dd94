"""Transaction records to bytes and back, as docs/formats/transaction-state.md says, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata, TransactionStored
from barnabas.broker.coordinator.transaction.decisions.records import decode, encode
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.log_records.transaction import PartitionsSchema, TransactionLogKey, TransactionLogValue
from barnabas.protocol.log_records.versioned_messages import encode_key, encode_value
from barnabas.protocol.records.control import end_txn_marker
from barnabas.protocol.records.record import iter_records
from tests.support.source_tree import ROOT

_NOW_MS = 1_700_000_000_000
_DURABLE = list(TransactionState)[:6]
_INT16 = st.integers(-1, 2**15 - 1)
_INT64 = st.integers(-1, 2**63 - 1)
_NAMES = st.text(max_size=20)


@st.composite
def _stored(draw: st.DrawFn) -> TransactionMetadata:
    state = draw(st.sampled_from(_DURABLE))
    partitions = st.frozensets(st.tuples(_NAMES, st.integers(0, 2**31 - 1)), max_size=6)
    return TransactionMetadata(
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
def test_a_record_comes_back_as_it_was(txn: TransactionMetadata, transaction_version: int) -> None:
    record = TransactionStored(txn.transactional_id, txn)
    assert decode(*encode(record, transaction_version)) == record


@given(_stored())
def test_version_0_keeps_all_but_what_came_later(txn: TransactionMetadata) -> None:
    record = decode(*encode(TransactionStored(txn.transactional_id, txn), 0))
    assert record is not None
    assert record.stored is not None
    later = ("previous_producer_id", "next_producer_id", "next_producer_epoch")
    assert all(getattr(record.stored, name) == -1 for name in later)
    for name in set(TransactionMetadata._fields) - {*later, "client_transaction_version"}:
        assert getattr(record.stored, name) == getattr(txn, name)


@given(_stored())
def test_version_1_is_what_its_schema_makes_of_it(txn: TransactionMetadata) -> None:
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
def test_damage_is_reported(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        decode(key, value)


def test_an_id_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError):
        encode(TransactionStored("x" * 40_000, None), 2)


# --- the page of the format ---

_PAGE = ROOT / "docs" / "formats" / "transaction-state.md"
_PLACES = frozenset({("a", 0), ("a", 1), ("b", 0)})
_OLD = "Ongoing as transaction.version 0 writes it"


def _meant(state: TransactionState, epoch: int = 1, **fields: object) -> TransactionStored:
    started = {} if state is TransactionState.EMPTY else {"start_timestamp_ms": _NOW_MS}
    values = {"producer_id": 7, "timeout_ms": 60_000, **started, **fields}
    return TransactionStored(
        "t",
        TransactionMetadata(
            transactional_id="t",
            producer_epoch=epoch,
            state=state,
            last_update_timestamp_ms=_NOW_MS,
            **values,  # type: ignore[arg-type]  # because the values are of several types
        ),
    )


_MEANT = {
    "Empty, just initialised": _meant(TransactionState.EMPTY),
    "Ongoing in a-0, a-1 and b-0": _meant(TransactionState.ONGOING, partitions=_PLACES, client_transaction_version=2),
    _OLD: _meant(TransactionState.ONGOING, partitions=_PLACES),
    "PrepareCommit under TV2": _meant(
        TransactionState.PREPARE_COMMIT, 2, partitions=_PLACES, client_transaction_version=2
    ),
    "CompleteCommit": _meant(TransactionState.COMPLETE_COMMIT, 2, client_transaction_version=2),
    "PrepareAbort that used up its epochs": _meant(
        TransactionState.PREPARE_ABORT, 32767, next_producer_id=9, client_transaction_version=2
    ),
    "CompleteAbort after it": _meant(
        TransactionState.COMPLETE_ABORT, 0, producer_id=9, previous_producer_id=7, client_transaction_version=2
    ),
    "the id expired": TransactionStored("t", None),
}


def _rows(section: str) -> dict[str, list[str]]:
    worked = _PAGE.read_text().split(f"## {section}")[1].split("\n## ")[0]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in worked.splitlines() if line[:1] == "|"]
    return {row[0]: row[1:] for row in rows[2:]}


def test_the_page_shows_every_kind_of_record() -> None:
    assert list(_rows("Worked bytes")) == list(_MEANT)


@pytest.mark.parametrize("what", _MEANT)
def test_the_bytes_of_the_page_are_those_of_the_code(what: str) -> None:
    key, value = (None if cell == "null" else bytes.fromhex(cell) for cell in _rows("Worked bytes")[what])
    assert decode(key, value) == _MEANT[what]
    assert encode(_MEANT[what], 0 if what == _OLD else 2) == (key, value)


def test_the_markers_of_the_page_are_those_of_the_code() -> None:
    for commit, what in ((True, "commit"), (False, "abort")):
        batch = end_txn_marker(commit, 7, 2, 3, _NOW_MS, 10, 4)
        (record,) = iter_records(memoryview(batch))
        assert [(record.key or b"").hex(), (record.value or b"").hex()] == _rows("Markers")[what]


def test_the_partition_of_the_page_is_that_of_the_code() -> None:
    assert f"`shop-7` is in {partition_for('shop-7', 50)}" in _PAGE.read_text()


# --- the states that no log of ours has ---


def _with_status(status: int) -> tuple[bytes, bytes]:
    key, value = encode(_meant(TransactionState.ONGOING, partitions=_PLACES), 2)
    assert value is not None
    return key, value[:16] + bytes([status]) + value[17:]


def test_an_epoch_fence_that_was_begun_is_still_open() -> None:
    assert decode(*_with_status(7)) == _meant(TransactionState.ONGOING, partitions=_PLACES)


def test_dead_is_gone() -> None:
    assert decode(*_with_status(6)) == TransactionStored("t", None)


def test_an_unknown_state_is_reported() -> None:
    with pytest.raises(DecodeError, match="'t' has the unknown transaction status 8"):
        decode(*_with_status(8))

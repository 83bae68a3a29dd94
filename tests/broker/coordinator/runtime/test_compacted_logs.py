"""Coordinators load logs that a cleaner, Apache Kafka's say, has been through: with gaps, empty batches and horizons.

A cleaner leaves offsets where they are. A batch keeps its last offset when its records go, and its header alone stays
where it has a producer's last sequence. A batch with a tombstone or a marker says in its base timestamp when those may
go.
"""

from collections.abc import Container

import pytest

from barnabas.broker.coordinator.group.decisions.classic.model import CommittedOffset, GroupConfig, OffsetCommitted
from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
from barnabas.broker.coordinator.group.decisions.group_types import AnyRecord
from barnabas.broker.coordinator.group.decisions.records import encode
from barnabas.broker.coordinator.runtime.loading import Loader
from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata, TransactionStored
from barnabas.broker.coordinator.transaction.decisions.records import encode as encode_transaction
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.coordinator.transaction.decisions.transaction_machine import TransactionMachine
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import NONE
from barnabas.protocol.records.control import end_txn_marker
from barnabas.protocol.records.record import iter_records
from tests.support.records.batches import rebuild_batch
from tests.support.worlds.memory_topics import no_consumers

_NOW_MS = 1_700_000_000_000
_HORIZON = 0x40  # of the attributes: the base timestamp is when tombstones and markers may go


def _cleaned(batch: bytes, kept: Container[int], horizon_ms: int | None = None) -> bytes:
    """The batch as a cleaner leaves it, with the records at these offsets."""
    ((_, header),) = iter_batches(batch)
    if horizon_ms is not None:
        header = header._replace(base_timestamp=horizon_ms, attributes=header.attributes | _HORIZON)
    rows = [record for record in iter_records(batch) if record.offset in kept]
    return bytes(rebuild_batch(header, rows, compression=NONE))


class _Log:
    """The bytes of a log, as a coordinator's topic hands them out: a coordinator never sees where segments begin."""

    def __init__(self, batches: list[bytes], end_offset: int) -> None:
        self._batches = batches
        self._end_offset = end_offset

    def extent(self, partition: int) -> tuple[int, int]:
        return 0, self._end_offset

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        for batch in self._batches:
            if next(iter_batches(batch))[1].next_offset > offset:
                return batch
        return b""


def _commit(topic: str, offset: int) -> NewRecord:
    key, value = encode(OffsetCommitted("g", topic, 0, CommittedOffset(offset, -1, "", _NOW_MS)))
    return NewRecord(key, value, (), _NOW_MS)


def _in_transaction(producer_id: int, base_offset: int, rows: list[NewRecord]) -> bytearray:
    return build_batch(
        rows, base_offset=base_offset, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
    )


def _groups(batches: list[bytes], end_offset: int) -> dict[str, int]:
    """The committed offsets of the group, by topic."""
    machine = GroupMachine(GroupConfig(), no_consumers())
    loader = Loader[AnyRecord](_Log(batches, end_offset), 0, machine)
    while not loader.step():
        pass
    found = {topic: machine.durable.committed("g", topic, 0) for topic in ("a", "b", "c", "d")}
    return {topic: committed.offset for topic, committed in found.items() if committed is not None}


@pytest.fixture
def batches() -> list[bytes]:
    """Offsets 0 to 2 plain, 3 to 4 and 6 of a transaction that is committed at 7, 5 of one that is aborted at 8."""
    plain = build_batch([_commit("a", 1), _commit("b", 2), _commit("a", 3)])
    first = _in_transaction(7, 3, [_commit("b", 4), _commit("c", 5)])
    aborted = _in_transaction(8, 5, [_commit("d", 6)])
    second = _in_transaction(7, 6, [_commit("c", 7)])
    markers = [end_txn_marker(True, 7, 0, 0, _NOW_MS, 7, 0), end_txn_marker(False, 8, 0, 0, _NOW_MS, 8, 0)]
    return [bytes(each) for each in (plain, first, aborted, second, *markers)]


def test_groups_load_to_the_same_from_a_log_with_gaps_and_empty_batches(batches: list[bytes]) -> None:
    expected = {"a": 3, "b": 4, "c": 7}
    assert _groups(batches, 9) == expected
    plain, first, aborted, second, committed, abort = batches
    cleaned = [_cleaned(plain, {2}), _cleaned(first, {3}), _cleaned(aborted, ()), second, committed, abort]
    assert _groups(cleaned, 9) == expected
    cleaned = [_cleaned(plain, {2}), _cleaned(first, {3}), second, _with_horizon(committed)]  # and 8 gone altogether
    assert _groups(cleaned, 9) == expected


def test_a_tombstone_with_a_horizon_is_a_tombstone(batches: list[bytes]) -> None:
    plain, *others = batches
    gone = build_batch([_commit("a", 0)._replace(value=None)], base_offset=9)
    with_horizon = _cleaned(bytes(gone), {9}, horizon_ms=_NOW_MS + 86_400_000)
    assert _groups([_cleaned(plain, {2}), *others, with_horizon], 10) == {"b": 4, "c": 7}


def test_a_log_whose_end_was_cleaned_away_is_loaded_to_its_end(batches: list[bytes]) -> None:
    """Where the newest segment is empty, nothing needs to be left of the last offsets."""
    assert _groups(batches[:1], 40) == {"a": 3, "b": 2}
    assert _groups([], 40) == {}


def test_transactions_load_to_the_same_from_a_log_with_gaps_and_empty_batches() -> None:
    def state(name: str, epoch: int) -> NewRecord:
        txn = TransactionMetadata(
            transactional_id=name,
            producer_id=4000,
            producer_epoch=epoch,
            timeout_ms=60_000,
            state=TransactionState.EMPTY,
            last_update_timestamp_ms=_NOW_MS,
        )
        return NewRecord(*encode_transaction(TransactionStored(name, txn), 2), (), _NOW_MS)

    tombstone = NewRecord(encode_transaction(TransactionStored("y", None), 2)[0], None, (), _NOW_MS)
    rows = [[state("x", 1), state("y", 1)], [state("x", 2)], [tombstone, state("z", 5)], [state("x", 3)]]
    starts = (0, 2, 3, 5)
    whole = [bytes(build_batch(each, base_offset=start)) for each, start in zip(rows, starts, strict=True)]
    cleaned = [_cleaned(whole[1], ()), _cleaned(whole[2], {3, 4}, horizon_ms=_NOW_MS + 5), whole[3]]
    for log, end in ((whole, 6), (cleaned, 6), (cleaned, 9)):
        machine = TransactionMachine(lambda: 2)
        loader = Loader[TransactionStored](_Log(log, end), 0, machine)
        while not loader.step():
            pass
        epochs = {name: machine.transaction(name) for name in ("x", "y", "z")}
        assert {name: txn and txn.producer_epoch for name, txn in epochs.items()} == {"x": 3, "y": None, "z": 5}


def _with_horizon(marker: bytes) -> bytes:
    """A marker as a cleaner leaves it until its horizon."""
    ((_, header),) = iter_batches(marker)
    return _cleaned(marker, {header.base_offset}, horizon_ms=_NOW_MS + 1)

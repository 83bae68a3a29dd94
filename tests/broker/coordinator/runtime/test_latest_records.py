"""The last record of each key, found without looking at the others: the same as looking at them all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.runtime import loading
from barnabas.broker.coordinator.runtime.latest_records import Latest, keep_latest
from barnabas.broker.coordinator.runtime.loading import Loader
from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata, TransactionStored
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.coordinator.transaction.decisions.transaction_machine import TransactionMachine
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch, build_single
from barnabas.protocol.records.control import end_txn_marker
from barnabas.protocol.records.record import iter_records
from tests.support.records.batches import patch_offset_and_epoch
from tests.support.worlds.memory_topic import MemoryTopic

_EMPTY = TransactionMetadata(
    transactional_id="x",
    producer_id=4000,
    producer_epoch=3,
    timeout_ms=60_000,
    state=TransactionState.EMPTY,
    last_update_timestamp_ms=0,
)
_KEYS = [b"\0\0\0\1x", b"\0\0\0\1y", b"\0\0\0\1z", b"", b"k" * 70, b"k" * 9_000]
_pairs = st.tuples(st.sampled_from(_KEYS), st.none() | st.sampled_from([b"", b"v", b"v" * 63, b"v" * 200]))


@st.composite
def _batches(draw: st.DrawFn) -> bytearray:
    kind = draw(st.sampled_from(["single", "single", "several", "compressed", "headers", "keyless", "marker"]))
    if kind == "single":
        return build_single(*draw(_pairs), 1_700_000_000_000)
    if kind == "marker":
        return end_txn_marker(True, 7, 0, 0, 0)
    if kind == "keyless":
        return build_batch([NewRecord(None, b"v", (), 0)])
    if kind == "headers":
        return build_batch([NewRecord(*draw(_pairs), [("h", b"1")], 0)])
    rows = [NewRecord(*pair, (), time) for time, pair in enumerate(draw(st.lists(_pairs, min_size=1, max_size=4)))]
    return build_batch(rows, compression=1 if kind == "compressed" else 0)


def _log(batches: list[bytearray]) -> bytearray:
    log, offset = bytearray(), 5
    for batch in batches:
        patch_offset_and_epoch(batch, offset, 0)
        offset = next(iter_batches(batch))[1].next_offset
        log += batch
    return log


def _all_looked_at(log: bytes, offset: int) -> tuple[Latest, int]:
    latest: Latest = {}
    for position, header in iter_batches(log):
        if not header.is_control:
            for record in iter_records(memoryview(log)[position : position + header.size_in_bytes]):
                if record.offset >= offset:
                    latest.pop(record.key, None)
                    latest[record.key] = record.offset, record.value
        offset = max(offset, header.next_offset)
    return latest, offset


@given(st.lists(_batches(), max_size=12), st.integers(5, 20), st.integers(0, 80))
def test_it_is_what_a_look_at_every_record_finds(batches: list[bytearray], offset: int, cut: int) -> None:
    log = bytes(_log(batches))
    log = log[: len(log) - cut]
    latest: Latest = {}
    next_offset, _ = keep_latest(log, offset, latest)
    expected, expected_next = _all_looked_at(log, offset)
    assert list(latest.items()) == list(expected.items())
    assert next_offset == expected_next


@given(_batches(), st.data())
def test_damage_is_a_decode_error_or_found_to_be_harmless(batch: bytearray, data: st.DataObject) -> None:
    log = _log([batch])
    position = data.draw(st.integers(8, len(log) - 1))
    log[position] = data.draw(st.integers(0, 255))
    try:
        expected = _all_looked_at(bytes(log), 0)
    except DecodeError:
        expected = None
    latest: Latest = {}
    try:
        next_offset, _ = keep_latest(bytes(log), 0, latest)
    except DecodeError:
        return  # its CRC is looked at, too
    else:
        assert expected is not None
        assert (latest, next_offset) == expected


def _loaded(*records: tuple[bytes, bytes | None]) -> tuple[TransactionMachine, int]:
    topic, machine = MemoryTopic(), TransactionMachine(lambda: 2)
    for record in records:
        topic.append(0, [record], 0)
    loader, steps = Loader(topic, 0, machine), 1
    while not loader.step():
        steps += 1
    return machine, steps


def _record(txn: TransactionMetadata | None, transactional_id: str = "x") -> tuple[bytes, bytes | None]:
    return TransactionMachine(lambda: 2).encode(TransactionStored(transactional_id, txn))


def test_tombstones_and_records_of_other_kinds_are_passed_over() -> None:
    unknown = (b"\0\7what", b"\0\1ever")
    machine, _ = _loaded(_record(_EMPTY), unknown, _record(_EMPTY, "y"), _record(None, "y"))
    assert machine.transactions == {"x": _EMPTY}


def test_a_value_of_a_version_not_known_fails_the_load_while_it_counts() -> None:
    key, _ = _record(_EMPTY)
    with pytest.raises(DecodeError):
        _loaded(_record(_EMPTY), (key, b"\0\7"))
    assert _loaded((key, b"\0\7"), _record(_EMPTY))[0].transactions == {"x": _EMPTY}


def test_of_two_keys_with_one_id_the_later_record_wins() -> None:
    key, value = _record(_EMPTY._replace(producer_epoch=4))
    longer = key + b"\0"  # a newer release may add to the key
    for records in ([_record(_EMPTY), (longer, value)], [(longer, value), _record(_EMPTY), (longer, value)]):
        assert _loaded(*records)[0].transactions["x"].producer_epoch == 4


def test_a_replay_runs_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [_record(_EMPTY._replace(transactional_id=f"x{number}"), f"x{number}") for number in range(20)]
    assert _loaded(*records)[1] == 1
    monkeypatch.setattr(loading, "SLICE_RECORDS", 5)
    machine, steps = _loaded(*records)
    assert len(machine.transactions) == 20
    assert steps == 5

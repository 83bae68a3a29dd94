"""The five-batch window of every producer survives each kind of restart, without a scan at start."""

from typing import Literal

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.producer_snapshot import ProducerEntry, encode
from barnabas.storage.log import append
from barnabas.storage.refusals import AppendRefused
from tests.support.worlds.log import LogWorld, open_world

PID = 7


def write(world: LogWorld, first: int, count: int, *, producer_id: int = PID, records: int = 1) -> None:
    for number in range(first, first + count):
        world.append(*[b"v"] * records, producer_id=producer_id, epoch=0, sequence=number * records)


def retry(world: LogWorld, number: int, *, records: int = 1) -> int | ErrorCode:
    """The base offset an old batch is answered with, or the code."""
    try:
        result = world.append(*[b"v"] * records, producer_id=PID, epoch=0, sequence=number * records)
    except AppendRefused as refused:
        return refused.code
    assert result.is_duplicate
    return result.base_offset


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("records", [1, 7])
@pytest.mark.parametrize("others", [0, 700])
def test_all_five_batches_are_known_after_a_restart(how: Literal["stop", "kill"], records: int, others: int) -> None:
    """Also with so many batches of others between them that one step backwards is not enough."""
    world = open_world()
    write(world, 0, 6, records=records)
    write(world, 0, others, producer_id=8, records=3)
    write(world, 6, 1, records=records)
    end = world.log.log_end_offset
    last = end - records

    world.restart(how)

    assert [retry(world, number, records=records) for number in (3, 2, 4, 5, 6)] == [
        *(number * records for number in (3, 2, 4, 5)),
        last,
    ]
    assert retry(world, 1, records=records) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert world.log.log_end_offset == end
    assert not world.append(*[b"v"] * records, producer_id=PID, epoch=0, sequence=7 * records).is_duplicate


def test_a_clean_start_reads_no_batch_until_an_old_retry_asks(world: LogWorld) -> None:
    write(world, 0, 50)
    world.stop()
    before = len(world.files.calls)

    world.open()

    assert world.log.recovered.headers_replayed == 0
    opened = len([call for call in world.files.calls[before:] if call.name == "pread" and call.path.endswith(".log")])
    assert opened <= 3  # the tail behind the last index entry
    assert retry(world, 49) == 49
    before = len(world.files.calls)
    assert retry(world, 46) == 46
    assert any(call.name == "pread" for call in world.files.calls[before:])
    before = len(world.files.calls)
    assert retry(world, 45) == 45
    assert not any(call.name == "pread" for call in world.files.calls[before:])


def test_the_window_comes_back_from_several_segments() -> None:
    world = open_world(segment_bytes=200)
    write(world, 0, 12)
    world.restart("stop")
    assert [retry(world, number) for number in range(7, 12)] == list(range(7, 12))
    assert retry(world, 6) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_after_a_restart_costs_no_reads(world: LogWorld) -> None:
    write(world, 0, 20)
    world.restart("stop")
    before = len(world.files.calls)
    with pytest.raises(AppendRefused, match="OUT_OF_ORDER"):
        world.append(b"v", producer_id=PID, epoch=0, sequence=25)
    assert not any(call.name == "pread" for call in world.files.calls[before:])


def test_how_far_back_a_run_reads_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "WINDOW_SCAN_OFFSETS_MAX", 30)
    world = open_world()
    write(world, 0, 4)
    write(world, 0, 40, producer_id=8)
    write(world, 4, 1)
    world.restart("stop")
    assert retry(world, 3) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    before = len(world.files.calls)
    assert retry(world, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert not any(call.name == "pread" for call in world.files.calls[before:])


def test_where_the_topic_stamps_its_own_time_an_old_retry_is_known_and_a_gap_is_a_gap() -> None:
    """Both are judged twice: before and after more of the log was read. A stamp of the first would fail the second."""
    world = open_world(message_timestamp_type="LogAppendTime")
    write(world, 0, 7)
    stamped_ms = world.now_ms
    world.restart("stop")
    world.now_ms += 60_000
    again = world.append(b"v", producer_id=PID, epoch=0, sequence=3)
    assert (again.base_offset, again.log_append_time_ms, again.is_duplicate) == (3, stamped_ms, True)
    assert retry(world, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    world.restart("stop")
    assert retry(world, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert not world.append(b"v", producer_id=PID, epoch=0, sequence=7).is_duplicate


def test_a_transactional_window_outlives_its_markers_and_a_restart(world: LogWorld) -> None:
    for number in range(3):
        world.append(b"v", producer_id=PID, epoch=0, sequence=number, transactional=True)
        world.mark(PID, 0, commit=True)
    world.restart("stop")
    assert retry(world, 0) == 0
    assert retry(world, 1) == 2


def test_a_snapshot_of_offsets_behind_its_own_is_not_believed(world: LogWorld) -> None:
    write(world, 0, 3)
    world.stop()
    wrong = ProducerEntry(PID, 0, 9, 9, 0, 0, -1, current_txn_first_offset=9)
    world.files.open(f"{world.path}/{3:020d}.snapshot").pwrite(encode([wrong]), 0)
    world.open()
    assert [retry(world, number) for number in range(3)] == [0, 1, 2]
    assert world.log.last_stable_offset == 3
    assert not world.append(b"v", producer_id=PID, epoch=0, sequence=3).is_duplicate

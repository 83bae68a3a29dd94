"""The records that dead letters copy: read in one pass, in order, as far as they can be read."""

from collections.abc import Callable

from barnabas.broker.partitions.share.dead_letter_source import DeadLetterRecords
from barnabas.protocol.records.builder import NewRecord, encode_records, seal_records
from barnabas.protocol.records.control import end_txn_marker
from barnabas.storage.steps import finish

SIZE = 1_000


class Log:
    """Batches of SIZE records, whose value is their offset."""

    def __init__(self, ends_at: int = 10 * SIZE) -> None:
        self.ends_at = ends_at
        self.reads: list[int] = []

    def read(self, offset: int) -> bytes:
        self.reads.append(offset)
        base = offset - offset % SIZE
        if base >= self.ends_at:
            return b""
        area = encode_records([NewRecord(None, b"%d" % number, [], 0) for number in range(base, base + SIZE)])
        return bytes(seal_records(bytes(area), SIZE, 0, base_offset=base, leader_epoch=0))


def values(records: DeadLetterRecords, read: Callable[[int], bytes], *offsets: int) -> list[bytes | None]:
    found = []
    for offset in offsets:
        if records.needs_batch(offset):
            records.take_batch(read(offset))
        record = finish(records.at(offset))
        found.append(None if record is None else record.value)
    return found


def test_each_batch_is_read_once_for_all_its_records() -> None:
    log = Log()
    offsets = [*range(0, SIZE, 2), 3 * SIZE + 7]
    assert values(DeadLetterRecords(1 << 20), log.read, *offsets) == [b"%d" % each for each in offsets]
    assert log.reads == [0, 3 * SIZE + 7]


def test_long_walks_pause() -> None:
    records = DeadLetterRecords(1 << 20)
    records.take_batch(Log().read(0))
    assert len(list(records.at(SIZE - 1))) >= SIZE // 100


def test_what_cannot_be_read_is_missing_until_the_next_dead_letter() -> None:
    log = Log(ends_at=0)
    records = DeadLetterRecords(1 << 20)
    assert values(records, log.read, 0, 1) == [None, None]
    log.ends_at = SIZE
    assert values(records, log.read, 2) == [None]
    records.begin_letter()
    assert values(records, log.read, 3) == [b"3"]
    assert log.reads == [0, 3]


def test_the_rest_of_a_damaged_batch_is_missing_and_the_next_batch_is_read() -> None:
    log = Log()

    def read(offset: int) -> bytes:
        batch = log.read(offset)
        return batch[:-1_000] + bytes(b"\xff" * 1_000) if offset < SIZE else batch

    assert values(DeadLetterRecords(1 << 20), read, 0, SIZE - 1, SIZE) == [b"0", None, b"1000"]


def test_a_marker_is_copied_like_a_record() -> None:
    marker = end_txn_marker(True, 7, 0, 3, timestamp_ms=0, base_offset=SIZE)
    records = DeadLetterRecords(1 << 20)
    records.take_batch(bytes(marker))
    found = finish(records.at(SIZE))
    assert found is not None
    assert (found.key, found.value) == (b"\0\0\0\1", b"\0\0\0\0\0\3")

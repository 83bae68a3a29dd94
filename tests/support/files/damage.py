"""A sound partition, and every way in which its files can be damaged."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lz4.frame import LZ4FrameCompressor  # type: ignore[import-untyped]  # because lz4 ships no types

from barnabas.logfiles.findings import FindingKind
from barnabas.protocol.files import offset_index, producer_snapshot, time_index, txn_index
from barnabas.protocol.files.checkpoints import encode_leader_epochs, encode_offsets
from barnabas.protocol.files.names import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, RECOVERY_POINT_CHECKPOINT
from barnabas.protocol.records.batch import HEADER_SIZE, encode_batch, iter_batches, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import GZIP, LZ4, SNAPPY, ZSTD
from barnabas.protocol.records.record import iter_records
from tests.support.files.segment_files import TIME_MS, LogWriter

SECOND, LAST = 9, 15  # base offsets of the segments behind the first
GONE = 5  # a producer whose transaction was aborted
ABORTED_AT = 8  # the offset of its marker


def write_sound_log(data_dir: Path) -> Path:
    """The directory of a partition of three segments, with all codecs, both markers and every file beside them."""
    log = LogWriter(data_dir)
    log.data([b"a", b"b"])
    log.data([b"c"], producer=(GONE, 0))
    log.data([b"d", b"e"], compression=GZIP)
    log.data([b"f"], compression=SNAPPY)
    log.data([b"g", b"h"], producer=(GONE, 0), sequence=1, compression=ZSTD)
    log.marker((GONE, 0), commit=False)
    log.aborted = [txn_index.AbortedTxn(GONE, 2, ABORTED_AT, ABORTED_AT + 1)]
    log.roll()
    assert log.base_offset == SECOND
    log.data([b"i", b"j"], compression=LZ4)
    log.data([b"k", b"l"])
    log.data([b"m"], producer=(6, 0))
    log.marker((6, 0), commit=True)
    log.roll()
    assert log.base_offset == LAST
    log.data([b"n"])
    log.data([b"o", b"p"])
    log.roll()
    for offset in (SECOND, LAST):
        (log.directory / f"{offset:020d}.snapshot").write_bytes(producer_snapshot.encode([]))
    (log.directory / LEADER_EPOCH_CHECKPOINT).write_bytes(encode_leader_epochs([(3, 0)]))
    return log.directory


Damage = Callable[[Path], None]
Change = Callable[[bytearray], bytes | bytearray | None]


class Way(NamedTuple):
    """A way to damage a partition, the expected finding, and in which file."""

    name: str
    damage: Damage
    kind: FindingKind
    file: str
    is_note: bool = False

    def __call__(self, partition: Path) -> None:
        self.damage(partition)


def file_of(base_offset: int, suffix: str = ".log") -> str:
    return f"{base_offset:020d}{suffix}"


def edit(base_offset: int, number: int, change: Change) -> Damage:
    """Change a batch of a segment by its number; `change` works in place, or returns other bytes."""

    def damage(partition: Path) -> None:
        path = partition / file_of(base_offset)
        data = path.read_bytes()
        batches = [bytearray(data[at : at + header.size_in_bytes]) for at, header in iter_batches(data)]
        changed = change(batches[number])
        if changed is not None:
            batches[number] = bytearray(changed)
        path.write_bytes(b"".join(batches))

    return damage


def claim(base_offset: int, number: int, **fields: int) -> Damage:
    """Give a batch's header other values, with the CRC that belongs to them."""

    def change(batch: bytearray) -> bytearray:
        return encode_batch(parse_header(batch)._replace(**fields), batch[HEADER_SIZE:])

    return edit(base_offset, number, change)


def put(at: int, data: bytes) -> Callable[[bytearray], None]:
    """Overwrite bytes of a batch."""

    def change(batch: bytearray) -> None:
        batch[at : at + len(data)] = data

    return change


def write(name: str, data: bytes) -> Damage:
    def damage(partition: Path) -> None:
        (partition / name).write_bytes(data)

    return damage


def append(base_offset: int, data: bytes) -> Damage:
    def damage(partition: Path) -> None:
        path = partition / file_of(base_offset)
        path.write_bytes(path.read_bytes() + data)

    return damage


def remove(base_offset: int, pattern: str) -> Damage:
    """Remove files of a segment; a missing index is not damage."""

    def damage(partition: Path) -> None:
        for path in partition.glob(file_of(base_offset, pattern)):
            path.unlink()

    return damage


def synced_up_to(offset: int) -> Damage:
    def damage(partition: Path) -> None:
        data = encode_offsets({("orders", 0): offset})
        (partition.parent / RECOVERY_POINT_CHECKPOINT).write_bytes(data)

    return damage


def both(*ways: Damage) -> Damage:
    def damage(partition: Path) -> None:
        for way in ways:
            way(partition)

    return damage


def with_offsets(batch: bytearray) -> bytearray:
    """The records of a batch of two, numbered 0 and 7."""
    header, area = parse_header(batch), batch[HEADER_SIZE:]
    second = 1 + (area[0] >> 1)
    area[second + 3] = 7 * 2  # behind the length, the attributes and the timestamp
    return encode_batch(header, area)


def with_dependent_blocks(batch: bytearray) -> bytearray:
    rows = [NewRecord(each.key, each.value, each.headers, each.timestamp) for each in iter_records(batch)]
    compressor = LZ4FrameCompressor(block_linked=True)
    area = compressor.begin() + compressor.compress(bytes(build_batch(rows)[HEADER_SIZE:])) + compressor.flush()
    return encode_batch(parse_header(batch), area)


def with_garbage(batch: bytearray) -> bytearray:
    return encode_batch(parse_header(batch), b"\xff" * (len(batch) - HEADER_SIZE))


def without_a_key(batch: bytearray) -> bytearray:
    """A marker whose record is empty, in as many bytes."""
    header = parse_header(batch)
    silent = build_batch([NewRecord(b"\0", b"123456789", [], header.base_timestamp)], base_offset=header.base_offset)
    return encode_batch(header._replace(records_count=1), silent[HEADER_SIZE:])


def shortened(batch: bytearray) -> bytearray:
    """A record less than the header counts."""
    header, area = parse_header(batch), batch[HEADER_SIZE:]
    return encode_batch(header, area[: 1 + (area[0] >> 1)])


KINDS = {
    ".index": FindingKind.OFFSET_INDEX,
    ".timeindex": FindingKind.TIME_INDEX,
    ".txnindex": FindingKind.TRANSACTION_INDEX,
    ".snapshot": FindingKind.PRODUCER_SNAPSHOT,
}


def says(name: str, base_offset: int, suffix: str, data: bytes, *, is_note: bool = False) -> Way:
    """A file beside a segment with these bytes."""
    file = file_of(base_offset, suffix)
    return Way(name, write(file, data), KINDS[suffix], file, is_note)


FIRST_OF_LAST_SIZE = 71  # bytes; a batch of one short record
BEGUN = bytes(build_batch([NewRecord(b"k", b"v" * 50, [], TIME_MS)], base_offset=LAST + 3, leader_epoch=3))[:70]

WAYS = [
    Way("a flipped bit", edit(0, 1, put(70, b"\x7f")), FindingKind.CRC, file_of(0)),
    Way("a flipped bit in the last segment", edit(LAST, 1, put(70, b"\x7f")), FindingKind.CRC, file_of(LAST)),
    Way("an offset that was", edit(0, 2, put(7, b"\x01")), FindingKind.OFFSET, file_of(0)),
    Way("an offset of the next segment", edit(0, 5, put(7, b"\x20")), FindingKind.OFFSET, file_of(0)),
    Way("another magic", edit(0, 3, put(16, b"\x09")), FindingKind.NO_BATCH, file_of(0)),
    Way("an old format", edit(SECOND, 0, put(16, b"\x01")), FindingKind.NO_BATCH, file_of(SECOND)),
    Way("a length that grew", edit(0, 1, put(10, b"\x01")), FindingKind.NO_BATCH, file_of(0)),
    Way("a length that shrank", edit(SECOND, 1, put(11, b"\x40")), FindingKind.NO_BATCH, file_of(SECOND)),
    Way("a torn tail", append(LAST, BEGUN), FindingKind.TORN, file_of(LAST), is_note=True),
    Way("a torn tail in the middle of the log", append(0, BEGUN), FindingKind.TORN, file_of(0)),
    Way("zeros at the end", append(LAST, bytes(500)), FindingKind.ZEROS, file_of(LAST), is_note=True),
    Way("zeros in the middle of the log", append(SECOND, bytes(500)), FindingKind.ZEROS, file_of(SECOND)),
    Way("more records than offsets", claim(SECOND, 1, records_count=3), FindingKind.HEADER, file_of(SECOND)),
    Way("fewer records than none", claim(SECOND, 1, records_count=-1), FindingKind.HEADER, file_of(SECOND)),
    Way(
        "offsets that end below their first",
        claim(SECOND, 1, last_offset_delta=-2),
        FindingKind.HEADER,
        file_of(SECOND),
    ),
    Way("a leader epoch that fell", claim(0, 2, partition_leader_epoch=2), FindingKind.LEADER_EPOCH, file_of(0)),
    Way(
        "a leader epoch below that of the segment before",
        both(*(claim(SECOND, number, partition_leader_epoch=2) for number in range(4))),
        FindingKind.LEADER_EPOCH,
        file_of(SECOND),
    ),
    Way("fewer records than the header counts", edit(LAST, 1, shortened), FindingKind.RECORDS, file_of(LAST)),
    Way("more records than the header counts", claim(LAST, 1, records_count=1), FindingKind.RECORDS, file_of(LAST)),
    Way("a record out of its place", edit(SECOND, 1, with_offsets), FindingKind.RECORDS, file_of(SECOND)),
    Way("records that cannot be decompressed", edit(0, 2, with_garbage), FindingKind.RECORDS, file_of(0)),
    Way("a timestamp no record has", claim(LAST, 0, max_timestamp=TIME_MS + 999), FindingKind.TIMESTAMP, file_of(LAST)),
    Way(
        "a largest timestamp that was left out", claim(LAST, 0, max_timestamp=-1), FindingKind.TIMESTAMP, file_of(LAST)
    ),
    Way(
        "lz4 that Java cannot read",
        both(edit(SECOND, 0, with_dependent_blocks), remove(SECOND, ".index")),
        FindingKind.COMPRESSION,
        file_of(SECOND),
    ),
    Way("a marker that says nothing", edit(SECOND, 3, without_a_key), FindingKind.CONTROL, file_of(SECOND)),
    Way("a segment that is gone", remove(SECOND, ".*"), FindingKind.HOLE, file_of(0)),
    Way(
        "a segment that is empty",
        both(write(file_of(SECOND), b""), remove(SECOND, ".*index")),
        FindingKind.HOLE,
        file_of(SECOND),
    ),
    Way(
        "offsets that are in two segments",
        both(claim(SECOND, 3, last_offset_delta=5), remove(SECOND, ".index")),
        FindingKind.OVERLAP,
        file_of(SECOND),
    ),
    says("an index of what does not begin", 0, ".index", offset_index.encode([(2, 1), (5, 200)])),
    says("an index with another offset", LAST, ".index", offset_index.encode([(1, FIRST_OF_LAST_SIZE)])),
    says("an index that goes on behind the log", LAST, ".index", offset_index.encode([(9, 5000)])),
    says("an index out of order", 0, ".index", offset_index.encode([(4, 300), (2, 100)])),
    says("a time that no batch has", 0, ".timeindex", time_index.encode([(TIME_MS + 77, 4)])),
    says("a time behind the log", LAST, ".timeindex", time_index.encode([(TIME_MS + 77, 50)])),
    says("times out of order", 0, ".timeindex", time_index.encode([(TIME_MS + 4, 4), (TIME_MS + 2, 2)])),
    says("an abort that never was", SECOND, ".txnindex", txn_index.encode([txn_index.AbortedTxn(6, 13, 14, 15)])),
    says(
        "an abort below the segment",
        SECOND,
        ".txnindex",
        txn_index.encode([txn_index.AbortedTxn(GONE, 2, ABORTED_AT, SECOND)]),
    ),
    says("an abort that is missing", 0, ".txnindex", b""),
    says("nonsense about aborts", 0, ".txnindex", b"?" * 34),
    # of snapshots a note: nothing is known to be synced
    says("a snapshot with another CRC", LAST, ".snapshot", b"\x00\x01" + bytes(8), is_note=True),
    says("a damaged snapshot between two segments", LAST + 1, ".snapshot", b"nonsense", is_note=True),
    Way("no topic id", write(PARTITION_METADATA, b"version: 0\n"), FindingKind.PARTITION_METADATA, PARTITION_METADATA),
    Way("a synced end that is gone", synced_up_to(LAST + 9), FindingKind.END, file_of(LAST)),
    Way(
        "leader epochs out of order",
        write(LEADER_EPOCH_CHECKPOINT, b"0\n2\n3 0\n2 4\n"),
        FindingKind.LEADER_EPOCHS,
        LEADER_EPOCH_CHECKPOINT,
    ),
]

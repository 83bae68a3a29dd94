"""`barnabas log dump`: the contents of the files of a data directory, a line per batch, record or entry.

Reads any of Kafka's files by its name; a directory means all of them below it, in order. Prints everything before the
first bytes that are no batch, and their position; `verify` judges the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.logfiles.decoders import decoder_for
from barnabas.logfiles.describe import batch_fields, record_fields
from barnabas.logfiles.entries import aborted_txns, offset_entries, time_entries
from barnabas.logfiles.findings import describe
from barnabas.logfiles.log_file import LogFile
from barnabas.logfiles.walk import Bounds, Damage, walk_batches
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import checkpoints, names, producer_snapshot
from barnabas.protocol.records.record import iter_records

Row = dict[str, Any]

OFFSET_CHECKPOINTS = (
    names.RECOVERY_POINT_CHECKPOINT,
    names.LOG_START_CHECKPOINT,
    names.HIGH_WATERMARK_CHECKPOINT,
    names.CLEANER_CHECKPOINT,
    names.CATALOGUE_END,
)


def files_below(path: Path) -> list[Path]:
    """Return the file itself, or every file below the directory that can be dumped, in order of name."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and reader_of(file) is not None)


def dump(path: Path, *, with_records: bool) -> Iterator[Row]:
    """Yield the rows of one file; the last one has a key `problem` if the file is damaged."""
    reader = reader_of(path)
    if reader is None:
        yield {"problem": f"{path.name} is not a file of a data directory"}
        return
    try:
        yield from (_batches(path, with_records) if reader == "batches" else ENTRY_READERS[reader](path))
    except DecodeError as error:
        yield {"problem": str(error)}


def reader_of(path: Path) -> str | None:
    """Return the name of the reader for a file's name; None for another file."""
    segment = names.parse_segment_file(path.name)
    if segment is not None:
        return "batches" if segment.kind is names.FileKind.LOG else segment.kind.value
    if names.parse_metadata_snapshot(path.name) is not None or path.name == names.BOOTSTRAP_CHECKPOINT:
        return "batches"
    if path.name in OFFSET_CHECKPOINTS:
        return "offsets"
    return path.name if path.name in ENTRY_READERS else None


def _batches(path: Path, with_records: bool) -> Iterator[Row]:
    directory = names.parse_partition_directory(path.parent.name)
    topic = directory.topic if directory else names.CLUSTER_METADATA_TOPIC if path.suffix == ".checkpoint" else ""
    segment = names.parse_segment_file(path.name)
    size = path.stat().st_size
    with LogFile(str(path), size) as file:
        for found in walk_batches(file, 0, size, Bounds(segment.base_offset if segment else 0, None)):
            header = found.header
            if header is None or found.damage not in (None, Damage.CRC, Damage.OFFSET):
                yield {"problem": describe(found), "position": found.position}
                return
            crc_ok = found.batch is not None
            yield batch_fields(found.position, header, crc_ok)
            if with_records and found.batch is not None:
                decode = decoder_for(topic, header)
                for record in iter_records(found.batch):
                    yield {"|": "record"} | record_fields(record, header, decode)


def _offset_index(path: Path) -> Iterator[Row]:
    for entry in offset_entries(path.read_bytes()):
        yield {"offset": int(path.stem) + entry.relative_offset, "position": entry.position}


def _time_index(path: Path) -> Iterator[Row]:
    for entry in time_entries(path.read_bytes()):
        yield {"timestamp": entry.timestamp, "offset": int(path.stem) + entry.relative_offset}


def _txn_index(path: Path) -> Iterator[Row]:
    for entry in aborted_txns(path.read_bytes()):
        yield {
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }


def _snapshot(path: Path) -> Iterator[Row]:
    for entry in producer_snapshot.decode(path.read_bytes()):
        yield {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_txn_first_offset,
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
            "offsetDelta": entry.offset_delta,
            "timestamp": entry.timestamp,
        }


def _offsets(path: Path) -> Iterator[Row]:
    for (topic, partition), offset in checkpoints.decode_offsets(path.read_bytes()).items():
        yield {"topic": topic, "partition": partition, "offset": offset}


def _leader_epochs(path: Path) -> Iterator[Row]:
    for entry in checkpoints.decode_leader_epochs(path.read_bytes()):
        yield {"epoch": entry.epoch, "startOffset": entry.start_offset}


ENTRY_READERS = {
    ".index": _offset_index,
    ".timeindex": _time_index,
    ".txnindex": _txn_index,
    ".snapshot": _snapshot,
    "offsets": _offsets,
    names.LEADER_EPOCH_CHECKPOINT: _leader_epochs,
}

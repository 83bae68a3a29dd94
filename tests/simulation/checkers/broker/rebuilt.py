"""Rules that make again what a clean stop leaves beside the logs, from the logs alone, and compare.

The logs are read with nothing of the broker but the formats. `unsound_files` has the indexes, which `barnabas log
verify` makes again; here are the snapshots of producers, the checkpoints, and what readers see.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARK_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    FileKind,
    FileState,
    SegmentFile,
    parse_segment_file,
)
from barnabas.protocol.files.producer_snapshot import ProducerEntry, decode
from barnabas.protocol.records.batch import BatchHeader, iter_batches
from barnabas.protocol.records.control import EndTxnMarker, read_marker
from barnabas.protocol.records.record import iter_records
from tests.simulation.checkers.log.records import seen
from tests.simulation.clients.records import value_of
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.world.disk import Disk

_ROOT = "/data"
_CHECKPOINTS = (RECOVERY_POINT_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT)
_NONE = ProducerEntry(-1, -1, -1, -1, 0, -1, -1, -1)


class Batch(NamedTuple):
    """One of a log, with what it ends if it is a marker."""

    header: BatchHeader
    data: memoryview
    marker: EndTxnMarker | None


def wrong_snapshots(disk: Disk, history: History) -> Iterator[str]:
    """A snapshot has every producer as the batches below its offset make it, unless some of them are gone."""
    for at, files in _partitions(disk):
        batches = _batches(disk, at, files)
        if not _is_whole(files, batches):
            continue
        for file in files:
            if file.kind is FileKind.PRODUCER_SNAPSHOT:
                data = disk.peek(f"{_directory(at)}/{file.name}") or b""
                found = {entry.producer_id: entry for entry in decode(data)}
                made = _producers([each for each in batches if each.header.next_offset <= file.base_offset])
                for producer_id in sorted({*found, *made}):
                    if found.get(producer_id) != made.get(producer_id):
                        what = f"{found.get(producer_id)}, and the log says {made.get(producer_id)}"
                        yield f"{_directory(at)}/{file.name}: {what}"


def wrong_checkpoints(disk: Disk, history: History) -> Iterator[str]:
    """After a clean stop that left its marker the checkpoints say where the logs end."""
    if disk.peek(f"{_ROOT}/{CLEAN_SHUTDOWN}") is None:
        return
    ends = {at: _end(disk, at, files) for at, files in _partitions(disk)}
    for name in _CHECKPOINTS:
        for at, offset in decode_offsets(disk.peek(f"{_ROOT}/{name}") or b"").items():
            if at in ends and offset != ends[at]:
                yield f"{name} has {offset} for {at[0]}-{at[1]}, which ends at {ends[at]}"


def other_records(disk: Disk, history: History) -> Iterator[str]:
    """Readers saw at the end what is in the files, and readers of committed records what was not aborted of it.

    Of a log of which something goes more may be gone since.
    """
    starts = {poll.at: poll.log_start_offset for poll in history.final}
    read_by = {is_committed: seen(history.final, is_committed=is_committed) for is_committed in (False, True)}
    for at, files in _partitions(disk):
        if at not in starts:
            continue
        batches = _batches(disk, at, files)
        for is_committed in (False, True):
            stored = [each for each in _records(batches, is_committed=is_committed) if each[0] >= starts[at]]
            if is_committed and not _is_whole(files, batches):
                continue  # the beginning of a transaction may be gone, and with it which batches were aborted
            read = read_by[is_committed].get(at, [])
            if at[0] in history.promises:
                read = [each for each in read if each in stored]
            for mine, theirs in zip(stored, read, strict=False):
                if mine != theirs:
                    yield f"{at[0]}-{at[1]}: {mine} is in the files, and readers saw {theirs}"
                    break
            else:
                if len(stored) != len(read):
                    yield f"{at[0]}-{at[1]}: {len(stored)} records are in the files, and readers saw {len(read)}"


def _records(batches: list[Batch], *, is_committed: bool) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    held: dict[int, list[tuple[int, bytes]]] = {}
    for header, data, marker in batches:
        if marker is not None:
            records = held.pop(marker.producer_id, [])
            found += records if marker.commit else []
        elif not header.is_control:
            records = [(record.offset, value_of(record)) for record in iter_records(data)]
            if is_committed and header.is_transactional:
                held.setdefault(header.producer_id, []).extend(records)
            else:
                found += records
    return sorted(found)


def _producers(batches: list[Batch]) -> dict[int, ProducerEntry]:
    found: dict[int, ProducerEntry] = {}
    for header, _, marker in batches:
        if marker is not None:
            entry = _of_epoch(found, marker.producer_id, marker.producer_epoch)
            found[marker.producer_id] = entry._replace(
                timestamp=marker.timestamp, coordinator_epoch=marker.coordinator_epoch, current_txn_first_offset=-1
            )
        elif header.has_producer_id and not header.is_control:
            entry = _of_epoch(found, header.producer_id, header.producer_epoch)
            begins = header.is_transactional and entry.current_txn_first_offset < 0
            found[header.producer_id] = entry._replace(
                last_sequence=header.last_sequence,
                last_offset=header.last_offset,
                offset_delta=header.last_offset_delta,
                timestamp=header.max_timestamp,
                current_txn_first_offset=header.base_offset if begins else entry.current_txn_first_offset,
            )
    return found


def _of_epoch(found: dict[int, ProducerEntry], producer_id: int, epoch: int) -> ProducerEntry:
    """Another epoch begins without a last batch."""
    entry = found.get(producer_id, _NONE._replace(producer_id=producer_id, producer_epoch=epoch))
    if entry.producer_epoch == epoch:
        return entry
    return entry._replace(producer_epoch=epoch, last_sequence=-1, last_offset=-1, offset_delta=0)


# --- files ---


def _partitions(disk: Disk) -> Iterator[tuple[TopicPartition, list[SegmentFile]]]:
    for name in sorted(disk.peek_names(_ROOT)):
        topic, _, number = name.rpartition("-")
        if topic and number.isdigit() and topic != "__cluster_metadata":
            names = map(parse_segment_file, sorted(disk.peek_names(f"{_ROOT}/{name}")))
            yield (topic, int(number)), [each for each in names if each is not None and each.state is FileState.LIVE]


def _directory(at: TopicPartition) -> str:
    return f"{_ROOT}/{at[0]}-{at[1]}"


def _batches(disk: Disk, at: TopicPartition, files: list[SegmentFile]) -> list[Batch]:
    found: list[Batch] = []
    for file in files:
        if file.kind is FileKind.LOG:
            data = memoryview(disk.peek(f"{_directory(at)}/{file.name}") or b"")
            for position, header in iter_batches(data):
                batch = data[position : position + header.size_in_bytes]
                marker = read_marker(batch) if header.is_control and header.has_producer_id else None
                found.append(Batch(header, batch, marker))
    return found


def _is_whole(files: list[SegmentFile], batches: list[Batch]) -> bool:
    """Whether every batch is there, from offset 0 on."""
    end = 0
    if min((file.base_offset for file in files if file.kind is FileKind.LOG), default=0) > 0:
        return False
    for each in batches:
        if each.header.base_offset != end or each.header.records_count != each.header.last_offset_delta + 1:
            return False
        end = each.header.next_offset
    return True


def _end(disk: Disk, at: TopicPartition, files: list[SegmentFile]) -> int:
    """Where the log ends: a segment without a batch begins there."""
    batches = _batches(disk, at, files)
    bases = [file.base_offset for file in files if file.kind is FileKind.LOG]
    return max([*bases, *[each.header.next_offset for each in batches[-1:]]], default=0)

"""Changing what stands in a log, batch by batch, so that CRCs are right and the story is not."""

from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.protocol.records.batch import HEADER_SIZE, BatchHeader, encode_batch, iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker, read_marker
from barnabas.protocol.records.record import BatchRecord, iter_records

Batch = tuple[BatchHeader, bytes]


def read_log(directory: Path) -> list[Batch]:
    """Every batch of a partition, over all its segments."""
    data = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
    return [(header, data[at : at + header.size_in_bytes]) for at, header in iter_batches(data)]


def rewrite(directory: Path, change: Callable[[list[Batch]], Sequence[bytes]]) -> None:
    """Put other batches into a partition, in one segment without indexes."""
    batches = change(read_log(directory))
    paths = sorted(directory.glob("*.log"))
    for path in directory.glob("0*"):
        path.unlink()
    paths[0].write_bytes(b"".join(batches))


def as_abort(batch: Batch) -> bytes:
    """A COMMIT marker turned into an ABORT."""
    marker = read_marker(batch[1])
    assert marker is not None
    assert marker.commit
    header = batch[0]
    return bytes(
        end_txn_marker(
            False,
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            marker.timestamp,
            header.base_offset,
            header.partition_leader_epoch,
        )
    )


def moved(batch: Batch, base_offset: int) -> bytes:
    """The same batch at another place."""
    return bytes(encode_batch(batch[0]._replace(base_offset=base_offset), batch[1][HEADER_SIZE:]))


def changed(batch: Batch, change: Callable[[list[BatchRecord]], Sequence[BatchRecord]]) -> bytes:
    """The same batch with other records."""
    header = batch[0]
    records = [
        NewRecord(each.key, each.value, each.headers, each.timestamp) for each in change(list(iter_records(batch[1])))
    ]
    return bytes(
        build_batch(
            records,
            base_offset=header.base_offset,
            leader_epoch=header.partition_leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
        )
    )

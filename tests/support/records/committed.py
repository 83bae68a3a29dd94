"""What a read_committed consumer finds in a log that is open."""

from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from barnabas.storage.log.log import PartitionLog


def records(log: PartitionLog) -> dict[int, tuple[bytes | None, bytes | None]]:
    """By offset, key and value of every record, aborted ones left out."""
    found: dict[int, tuple[bytes | None, bytes | None]] = {}
    offset = log.log_start_offset
    while data := log.read(offset, 1 << 20, committed=True, force_first_batch=True).read_all():
        for position, header in iter_batches(data):
            if not header.is_control:
                batch = memoryview(data)[position : position + header.size_in_bytes]
                found |= {record.offset: (record.key, record.value) for record in iter_records(batch)}
            offset = header.next_offset
    return found

"""`.cleaned` segments made by a few lines: only the last batch of each key stays. For what follows a cleaning."""

from collections.abc import Sequence

from barnabas.protocol.files import offset_index, time_index
from barnabas.protocol.files.names import FileKind, FileState, segment_file
from barnabas.protocol.records.batch import BatchHeader, iter_batches
from barnabas.protocol.records.record import iter_records
from barnabas.storage.log.cleaning.segment_replacement import Replaced
from barnabas.storage.log.log import PartitionLog


def clean(log: PartitionLog, groups: Sequence[int]) -> list[Replaced]:
    """Make one segment of the first `groups[0]` segments, one of the next `groups[1]`, and so on. All synced."""
    extents, names = log.extents, [file.name for file in log.files]
    content = [log.directory.read(name) or b"" for name in names]
    last: dict[bytes, int] = {}
    for data in content:
        for position, header in iter_batches(data):
            last[_key(data, position, header)] = header.base_offset
    made, at = [], 0
    for count in groups:
        remaining = [
            (header, data[position : position + header.size_in_bytes])
            for data in content[at : at + count]
            for position, header in iter_batches(data)
            if last[_key(data, position, header)] == header.base_offset
        ]
        _write(log, extents[at][0], remaining)
        made.append(Replaced(extents[at][0], extents[at : at + count]))
        at += count
    return made


def _key(data: bytes, position: int, header: BatchHeader) -> bytes:
    if header.is_control:
        return b"marker %d" % header.base_offset
    (record,) = iter_records(memoryview(data)[position : position + header.size_in_bytes])
    assert record.key is not None
    return record.key


def _write(log: PartitionLog, base_offset: int, batches: Sequence[tuple[BatchHeader, bytes]]) -> None:
    largest = max(((header.max_timestamp, header.last_offset) for header, _ in batches), default=None)
    times = [] if largest is None else [(largest[0], largest[1] - base_offset)]
    for kind, content in (
        (FileKind.LOG, b"".join(batch for _, batch in batches)),
        (FileKind.OFFSET_INDEX, offset_index.encode([])),
        (FileKind.TIME_INDEX, time_index.encode(times)),
    ):
        file = log.directory.open(segment_file(base_offset, kind, FileState.CLEANED), create=True)
        file.pwrite(content, 0)
        file.sync()
        file.close()

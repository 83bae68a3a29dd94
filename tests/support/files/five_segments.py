"""A log of five small segments, as tests fill it and let retention take some of them."""

from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.log.log import PartitionLog
from tests.support.files.log_directories import CONFIG, TOPIC_ID, checkpoint, flush, start
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.batches import batch_of

NOW_MS = 1_000_000
SMALL = CONFIG._replace(segment_bytes=2 * len(batch_of([NOW_MS])), file_delete_delay_ms=60_000)
DUE_MS = NOW_MS + SMALL.file_delete_delay_ms


def opened(directory: LogDirectory, topic_id: bytes = TOPIC_ID) -> PartitionLog:
    return directory.open_log("t", 0, topic_id, SMALL, NOW_MS)


def append(log: PartitionLog, count: int, timestamp: int = NOW_MS) -> None:
    for _ in range(count):
        log.append(batch_of([timestamp]), leader_epoch=0, now_ms=NOW_MS)


def filled(files: MemoryFiles) -> tuple[LogDirectory, PartitionLog]:
    """Segments at 0, 2, 4, 6 and 8, all of them synced."""
    directory = start(files)
    log = opened(directory)
    append(log, 9)
    flush(log)
    checkpoint(directory)
    return directory, log


def keep(log: PartitionLog, segments: int) -> None:
    """Retention takes the others."""
    log.config = SMALL._replace(retention_bytes=(segments - 1) * SMALL.segment_bytes)
    assert log.apply_retention(NOW_MS)
    log.config = SMALL

"""A data directory as the tests of storage start, fill, stop and kill it, with ids that repeat."""

import itertools
from collections.abc import Callable

from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import Files
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.recovery.report import Recovered
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.batches import batch_of
from tests.support.work import finish_work

CONFIG = LogConfig()
TOPIC_ID = bytes(range(16))
NODE_ID = 1
MARKER = ".kafka_cleanshutdown"


def ids() -> Callable[[], bytes]:
    """Ids that look random and are not."""
    numbers = itertools.count(1)
    return lambda: (0x3C0FFEE << 96 | next(numbers)).to_bytes(16, "big")


def start(files: Files, path: str = "/data", *, node_id: int = NODE_ID, open_files_max: int = 64) -> LogDirectory:
    return LogDirectory.open(path, files, node_id=node_id, new_id=ids(), open_files_max=open_files_max)


def started(seed: int = 0) -> tuple[MemoryFiles, LogDirectory]:
    """A new directory in memory."""
    files = MemoryFiles(seed)
    return files, start(files)


def again(directory: LogDirectory) -> LogDirectory:
    """Stop it cleanly, and start."""
    directory.close(clean=True)
    return start(directory.root.disk.files)


def end(files: MemoryFiles, directory: LogDirectory, *, is_clean: bool) -> None:
    directory.close(clean=True) if is_clean else kill(files)


def open_log(directory: LogDirectory, topic: str = "t", partition: int = 0, topic_id: bytes = TOPIC_ID) -> PartitionLog:
    return directory.open_log(topic, partition, topic_id, CONFIG, now_ms=1_000)


def append(log: PartitionLog, count: int = 1) -> int:
    """Append a batch; returns its base offset."""
    return log.append(batch_of([1_000] * count), leader_epoch=0, now_ms=1_000).base_offset


def flush(log: PartitionLog) -> None:
    plan = log.begin_flush()
    if plan is not None:
        plan.run()
        log.end_flush(plan)


def apply_retention(log: PartitionLog, now_ms: int) -> None:
    """Remove what is no longer needed, durably."""
    log.apply_retention(now_ms)
    if log.retention_awaits_flush:
        flush(log)
        log.apply_retention(now_ms)
    if (job := log.retention_job()) is not None:
        job.run_here()


def delete_due(directory: LogDirectory, now_ms: int) -> int | None:
    """Run all deletions that are due. The time to call again, None if nothing is left."""
    finish_work(directory.deletions.removing(now_ms))
    return directory.deletions.next_due_ms


def was_needed(recovered: Recovered) -> bool:
    """Whether recovery did anything that the operator should know of."""
    return bool(recovered.segments_reread or recovered.bytes_dropped or recovered.segments_dropped or recovered.notes)


def checkpoint(directory: LogDirectory) -> None:
    job = directory.begin_checkpoint()
    if job is not None:
        job.run()
        directory.end_checkpoint(job)


def kill(files: MemoryFiles) -> None:
    """End the process, not the machine."""
    files.crash("everything")


def content(files: Files, path: str) -> bytes:
    file = files.open(path, read_only=True)
    with_size = file.size()
    data = file.pread(with_size, 0)
    file.close()
    return data


def names_in(files: Files, path: str = "/data") -> set[str]:
    return {entry.name for entry in files.entries(path)}


def offsets(files: Files, path: str) -> dict[tuple[str, int], int]:
    """The rows of a checkpoint."""
    return decode_offsets(content(files, path))

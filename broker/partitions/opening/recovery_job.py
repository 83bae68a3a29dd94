"""The recovery of one partition as a job: opened as in a start after a kill, then closed as in a clean stop.

Knows a partition's directory, and its checkpoints. The owner of the data directory stores the result
(storage/directories/recovered_logs.py): opening the partition then reads none of its records. A job that was
interrupted is begun again from the start, as in a start after another kill (storage/recovery/log_loader.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.runtime.workers.counted_files import CountedFiles
from barnabas.broker.runtime.workers.job import Steps
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.recovered_logs import ClosedLog
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import Files
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import StorageError
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.recovery.log_loader import load_log


@dataclass(frozen=True, slots=True)
class RecoverPartition:
    """The input of a recovery. `now_ms`: the current time, for producer ids that have expired."""

    directory: str
    topic: str
    partition: int
    topic_id: bytes
    config: LogConfig
    checkpoint: LogCheckpoint
    now_ms: int

    def steps(self, files: Files) -> Steps[ClosedLog]:
        """Yield the steps. Raises StorageError; SyncFailed if the data directory must not be used any more."""
        counted = CountedFiles(files)
        disk = Disk(counted, self.directory)
        try:
            log = yield from self._open(Directory(disk, self.directory), counted)
            yield counted.taken()
            yield log.close  # indexes and snapshots written, everything synced
            return ClosedLog(
                log.recovered,
                log.recovery_point,
                log.high_watermark,
                log.log_start_offset,
                log.first_segment_base_offset,
            )
        finally:
            disk.close()

    def _open(self, directory: Directory, counted: CountedFiles) -> Steps[PartitionLog]:
        opening = load_log(directory, self.config, self.checkpoint, self.now_ms)
        try:
            sync = next(opening)
            while True:
                yield counted.taken()
                if sync is None:
                    sync = next(opening)
                    continue
                try:
                    yield sync.run
                except StorageError as error:
                    sync.failed(error)
                    sync = opening.throw(error)
                except GeneratorExit:
                    _give_up(sync)
                    raise
                else:
                    sync.finish()
                    sync = next(opening)
        except StopIteration as end:
            return PartitionLog(
                directory,
                self.topic,
                self.partition,
                self.topic_id,
                self.config,
                end.value,
                self.checkpoint,
                Deletions(),
            )
        finally:
            opening.close()


def _give_up(sync: SyncJob) -> None:
    """Mark a sync as failed that may still be running in a thread: its result is as unknown as after a kill."""
    sync.failed(StorageError("the sync of a recovery", "given up"))

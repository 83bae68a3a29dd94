"""The recovery of one partition as a job: opened as a start after a kill does, then closed as a clean stop does.

Knows a partition's directory, and what the checkpoints say of it. What it returns is noted by the owner of the data
directory (storage/directories/recovered_logs.py): opening the partition then reads none of its records. It is begun
again from the start if it was cut off anywhere, as a start after another kill would do (storage/recovery/loader.py).
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
from barnabas.storage.recovery.loader import load_log


@dataclass(frozen=True, slots=True)
class RecoverPartition:
    """All that recovery has to know. `now_ms`: the time it is, for producers that have expired."""

    directory: str
    topic: str
    partition: int
    topic_id: bytes
    config: LogConfig
    checkpoint: LogCheckpoint
    now_ms: int

    def steps(self, files: Files) -> Steps[ClosedLog]:
        """StorageError; SyncFailed if the data directory is not to be used any more."""
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
    """It may be running in a thread still: what comes of it is as unknown as after a kill."""
    sync.failed(StorageError("the sync of a recovery", "given up"))

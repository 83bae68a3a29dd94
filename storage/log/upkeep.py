"""A partition as its upkeep sees it: segments are sealed, synced and deleted, and the log is closed.

Knows when a segment ends and what must be on the disk before the next begins; knows nothing of what is appended
(storage/log/log.py). One owner calls it, only FlushPlan.run may run elsewhere.

Invariants: the last segment is active, the others are sealed; what recovery will not look at again (below the recovery
point) is synced, with the indexes and the producer snapshot that vouch for it.
"""

from __future__ import annotations

from zlib import crc32

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import FileKind, segment_file
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.errors import StorageError
from barnabas.storage.log.flush import Flusher, FlushPlan
from barnabas.storage.log.retention import deletable_segments
from barnabas.storage.log.view import LogView
from barnabas.storage.recovery.loader import LoadedLog
from barnabas.storage.refusals import OffsetOutOfRange
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.times import settle_age
from barnabas.storage.steps import Steps


class LogUpkeep(LogView):
    """The side of a partition that timers, flushes and a stop work on."""

    def __init__(
        self,
        directory: Directory,
        topic: str,
        partition: int,
        config: LogConfig,
        loaded: LoadedLog,
        checkpoint: LogCheckpoint,
        deletions: Deletions,
    ) -> None:
        super().__init__(f"{topic}-{partition}", loaded, checkpoint)
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self._snapshots = loaded.snapshots
        self._flusher = Flusher(directory, loaded.snapshots, loaded.epochs, loaded.recovery_point)
        self._deletions = deletions
        self._bytes_not_appended = self.size  # bytes that were here before this run, less those deleted in it
        self.config = config

    # --- settings ---

    @property
    def config(self) -> LogConfig:
        """The topic's settings; a new value takes effect with the next append."""
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._configure(config)

    def _configure(self, config: LogConfig) -> None:
        self._config = config
        self._jitter_ms = self._jitter_of_active()

    def _jitter_of_active(self) -> int:
        """How much earlier than segment.ms the active segment ends: the same for it every time, spread over many."""
        jitter_max_ms = min(self._config.segment_jitter_ms, self._config.roll_ms)
        return crc32(f"{self.name}-{self._active.base_offset}".encode()) % jitter_max_ms if jitter_max_ms > 0 else 0

    # --- what there is ---

    @property
    def size(self) -> int:
        """Bytes in the segments, without their indexes."""
        return sum(segment.size for segment in self._segments)

    @property
    def segments_count(self) -> int:
        """How many segments there are."""
        return len(self._segments)

    @property
    def files(self) -> list[DiskFile]:
        """The files of the segments, which open themselves when they are read."""
        return [segment.log for segment in self._segments]

    @property
    def appended(self) -> tuple[int, int]:
        """(records, bytes) appended since the log was opened, control records among them."""
        return self.log_end_offset - self.recovered.log_end_offset, self.size - self._bytes_not_appended

    # --- deletion ---

    def delete_records_before(self, offset: int) -> int:
        """Move the log's start to `offset` (-1: the high watermark); returns where it is now. It never goes back.

        Raises KafkaError. The files go with the next apply_retention.
        """
        if not self._config.is_deleted_by_age_or_size:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"cleanup.policy of {self.topic} does not contain delete")
        return self.delete_replaced_before(offset)

    def delete_replaced_before(self, offset: int) -> int:
        """As `delete_records_before`, whatever cleanup.policy says: what still counts was written again behind it.

        It is what compaction would come to, so a compacted log is still one that has the last record of each key.
        """
        wanted = self.high_watermark if offset == -1 else offset
        if not 0 <= wanted <= self.high_watermark:
            raise OffsetOutOfRange(
                f"{self.name}: cannot delete before {offset}, the high watermark is {self.high_watermark}"
            )
        self._start_at(max(wanted, self.log_start_offset))
        return self.log_start_offset

    def settle_ages(self, now_ms: int) -> Steps[None]:
        """Before `apply_retention`: have every segment that it may find too old know how old it is."""
        if self._config.is_deleted_by_age_or_size and self._config.retention_ms >= 0:
            going_anyway = len(self._deletable(now_ms, self._config._replace(retention_ms=-1)))
            for segment in tuple(self._segments[going_anyway:]):
                yield from settle_age(segment)
                if now_ms - segment.largest_timestamp <= self._config.retention_ms:
                    return

    def _deletable(self, now_ms: int, config: LogConfig) -> list[str]:
        return deletable_segments(
            self._segments,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            high_watermark=self.high_watermark,
            last_stable_offset=self.last_stable_offset,
            config=config,
            now_ms=now_ms,
        )

    def apply_retention(self, now_ms: int) -> list[str]:
        """Delete what the settings no longer keep, oldest first; returns a reason for each segment that went."""
        reasons = self._deletable(now_ms, self._config)
        if reasons and len(reasons) == len(self._segments):
            self._roll(now_ms)
        for _ in reasons:
            self._start_at(max(self._segments[1].base_offset, self.log_start_offset))
            doomed = self._segments[0]
            names = doomed.mark_deleted()
            doomed.log.close()  # a removed file keeps its room on the disk while it is open
            del self._segments[0]
            self._bytes_not_appended -= doomed.size
            snapshot = self._snapshots.mark_deleted(doomed.base_offset)
            names += [snapshot] if snapshot else []
            due_ms = now_ms + self._config.file_delete_delay_ms
            self._deletions.schedule(due_ms, self.directory, names, [doomed.log])
        if reasons:
            self.directory.sync()  # or a power cut brings back what the checkpoints no longer know to be deleted
        return reasons

    def remove_expired_producers(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that have not written for producer.id.expiration.ms; returns how many."""
        return self.producers.expire(now_ms, expiration_ms)

    # --- durability ---

    @property
    def recovery_point(self) -> int:
        """Everything below survives a power cut."""
        return self._flusher.recovery_point

    @property
    def flush_before_answer(self) -> bool:
        """Whether flush.messages is reached: who appended is answered after a flush."""
        return self._flusher.is_due_before_answer(self.log_end_offset, self._config)

    def flush_due(self, now_ms: int) -> bool:
        """Whether a flush in the background is due: by flush.ms, or because a segment was sealed. Ask now and then."""
        return self._flusher.is_due(self.log_end_offset, self._active.base_offset, self._config, now_ms)

    def begin_flush(self, *, sealed_only: bool = False) -> FlushPlan | None:
        """What to sync: a plan to run in any thread, then `end_flush` or `flush_failed`. None if all is synced."""
        end_offset = self._active.base_offset if sealed_only else self.log_end_offset
        return self._flusher.plan(self._segments, end_offset)

    def end_flush(self, plan: FlushPlan) -> None:
        """The plan ran: the recovery point moves."""
        self._flusher.finish(plan)

    def flush_failed(self, plan: FlushPlan, error: StorageError) -> None:
        """The plan raised: nothing moves, and after a failed sync the directory is offline until a restart."""
        plan.failed(error)

    def _flush_now(self, plan: FlushPlan) -> None:
        try:
            plan.run()
        except StorageError as error:
            self.flush_failed(plan, error)
            raise
        self.end_flush(plan)

    def close(self) -> None:
        """A clean stop: indexes, producer snapshot and epochs written, everything synced. The log is not used again."""
        self._seal_active()
        self._flush_now(self._flusher.plan_all(self._segments, self.log_end_offset))
        self.abandon()

    def abandon(self) -> None:
        """Give the descriptors back and write nothing, plans that have not run included.

        The partition is deleted, or closed, or its directory offline: another may have its name, or the partition.
        """
        self._epochs.give_up()
        for segment in self._segments:
            segment.indexes.give_up()
        for file in self.files:
            file.close()

    # --- rolling ---

    def _roll(self, now_ms: int) -> None:
        """Seal the active segment and begin the next at the log's end. On StorageError the old one stays active."""
        end_offset = self.log_end_offset
        try:
            self._seal_active()
            fresh = Segment.create(self.directory, end_offset, self._config, now_ms)
        except StorageError:
            self._undo_roll(end_offset)
            raise
        self._segments.append(fresh)
        self._active = fresh
        self._jitter_ms = self._jitter_of_active()

    def _seal_active(self) -> None:
        """Write the active segment's indexes, then the producer snapshot at its end, which vouches for them.

        Where flushes went past the segment's start the indexes are synced in between: recovery takes for durable what
        ends at the recovery point, and has a snapshot there.
        """
        if not self._active.is_sealed:
            self._active.seal()
        if self._flusher.recovery_point > self._active.base_offset:
            self._flush_now(self._flusher.plan_all([self._active], self.log_end_offset))
        self._snapshots.write(self.log_end_offset, self.producers.to_snapshot())

    def _undo_roll(self, base_offset: int) -> None:
        """Go on with the active segment; the next one's empty file must not come back once this one ends behind it."""
        try:
            self.directory.remove(segment_file(base_offset, FileKind.LOG))
            self.directory.sync()
            if self._active.is_sealed:
                self._active.activate()
        except StorageError as error:
            self.directory.disk.go_offline(f"cannot go on after a failed roll: {error}")

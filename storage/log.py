"""A partition: an append-only log of batches, cut into segments, with its watermarks and producers.

Knows batches and offsets; knows nothing of requests, of other partitions, or of who waits for data. Single-threaded:
one owner calls it, only FlushPlan.run may run elsewhere.

Theory of operation: an append is judged, given its offset and leader epoch in place, written with one call, and only
then accounted for, so whatever fails before leaves nothing behind. With min.insync.replicas=1 this machine is enough,
and the high watermark is the log's end; with more it never moves (we are one replica).

Invariants: log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset; the last segment is active, the
others are sealed; offsets never repeat.
"""

from __future__ import annotations

from struct import Struct

from protocol.errors import DecodeError, ErrorCode, KafkaError
from protocol.files.names import FileKind, segment_file
from protocol.primitives import Buffer
from protocol.records.batch import (
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    SEQUENCE_MAX,
    BatchHeader,
    WritableBuffer,
    parse_header,
)
from protocol.records.crc32c import crc32c
from storage.checkpoints import LogCheckpoint
from storage.config import LogConfig
from storage.deletion import Deletions
from storage.directory import Directory
from storage.errors import StorageError
from storage.log_append import AppendOrigin, AppendResult, Judged, jitter_ms, judge, read_older_batches
from storage.log_flush import Flusher, FlushPlan
from storage.log_loader import LoadedLog, load_log
from storage.log_view import LogView
from storage.producers import SeenBatch
from storage.refusals import AppendRefused, OffsetOutOfRange
from storage.retention import deletable_segments
from storage.segment import Segment
from storage.validate import PRODUCE_VERSION_NEWEST, Demands, is_plain, needs_walk

WINDOW_SCAN_OFFSETS_MAX = (
    200_000  # offsets whose batches are read, per run, to complete producers' windows after a load
)
_WINDOW_SCAN_STEP = 1024

_CLIENT = AppendOrigin.CLIENT
_PLAIN_SINCE_PRODUCE_VERSION = 7  # before, a codec may have to be refused
_unpack_header = HEADER.unpack_from
_pack_offset_to_epoch = Struct(">qii").pack_into  # base offset, batch length (unchanged), leader epoch


class PartitionLog(LogView):
    """One partition on disk. Offsets are those of Kafka; every bound is exclusive."""

    def __init__(
        self,
        directory: Directory,
        topic: str,
        partition: int,
        topic_id: bytes,
        config: LogConfig,
        loaded: LoadedLog,
        checkpoint: LogCheckpoint,
        deletions: Deletions,
    ) -> None:
        super().__init__(f"{topic}-{partition}", loaded, checkpoint)
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self._snapshots = loaded.snapshots
        self._epoch_assigned = loaded.epochs.latest_epoch
        self._flusher = Flusher(directory, loaded.snapshots, loaded.epochs, loaded.recovery_point)
        self._deletions = deletions
        self._window_scan_left = WINDOW_SCAN_OFFSETS_MAX
        self.config = config

    @classmethod
    def open(
        cls,
        directory: Directory,
        *,
        topic: str,
        partition: int,
        topic_id: bytes,
        config: LogConfig,
        now_ms: int,
        checkpoint: LogCheckpoint,
        deletions: Deletions,
    ) -> PartitionLog:
        """Load, and if need be recover, the partition in `directory`, which exists. `recovered` says what it took."""
        loaded = load_log(directory, config, checkpoint, now_ms)
        return cls(directory, topic, partition, topic_id, config, loaded, checkpoint, deletions)

    # --- settings ---

    @property
    def config(self) -> LogConfig:
        """The topic's settings; a new value takes effect with the next append."""
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._demands = Demands.of(config)
        self.enough_replicas = config.min_insync_replicas <= 1  # else acks=-1 is NOT_ENOUGH_REPLICAS
        self._plain_bytes_max = min(config.max_message_bytes, config.segment_bytes)
        self._jitter_ms = jitter_ms(self.name, self._active.base_offset, self._config)
        self._move_high_watermark()

    def set_leader_epoch(self, epoch: int) -> None:
        """The epoch this partition is led in from now on; it is noted in the epoch cache with the next append."""
        self.leader_epoch = epoch

    # --- append ---

    def needs_walk(self, batch: Buffer, now_ms: int) -> bool:
        """Whether the topic wants a batch, of a header's size at least, walked first: storage.validate.walk."""
        if is_plain(batch, self._demands, now_ms):
            return False
        try:
            return needs_walk(parse_header(batch), self._demands, now_ms)
        except DecodeError:
            return False  # no batch: append refuses it with the right code

    def append(
        self,
        batch: WritableBuffer,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = _CLIENT,
        produce_version: int = PRODUCE_VERSION_NEWEST,
        walked: bool = False,
    ) -> AppendResult:
        """Write one batch at the log's end. `batch` is changed in place: offset, leader epoch, log-append time.

        `walked` says that storage.validate.walk was here before; otherwise a batch that needs it is walked now. Raises
        AppendRefused with the code for the client, or StorageError; either way nothing was appended.
        """
        size = len(batch)
        if origin is _CLIENT and size > HEADER_SIZE and produce_version >= _PLAIN_SINCE_PRODUCE_VERSION:
            # The common case in one glance: nothing but this may skip storage.log_append.
            # fmt: off
            (sent_offset, length, _, magic, crc, attributes, last_delta, _, max_timestamp,
             producer_id, producer_epoch, base_sequence, count) = _unpack_header(batch)
            # fmt: on
            producer = self.producers.get(producer_id)
            active = self._active
            first_offset = self.log_end_offset
            last_offset = first_offset + last_delta
            if (
                attributes in self._demands.plain_attributes
                and magic == MAGIC
                and sent_offset == 0
                and length + LOG_OVERHEAD == size <= self._plain_bytes_max
                and last_delta + 1 == count > 0
                and max_timestamp - now_ms <= self._demands.timestamp_after_max_ms
                and leader_epoch == self._epoch_assigned
                and (
                    producer_id < 0
                    if producer is None
                    else producer.producer_epoch == producer_epoch
                    and producer.next_sequence == base_sequence
                    and producer.current_txn_first_offset is None
                )
                and crc32c(memoryview(batch)[21:]) == crc
                and not active.should_roll(self._config, size, last_offset, max_timestamp, now_ms, self._jitter_ms)
            ):
                _pack_offset_to_epoch(batch, 0, first_offset, length, leader_epoch)
                active.append(batch, last_offset, max_timestamp)
                if producer is not None:
                    last_sequence = base_sequence + last_delta
                    if last_sequence > SEQUENCE_MAX:
                        last_sequence -= SEQUENCE_MAX + 1
                    producer.add(
                        SeenBatch(base_sequence, last_sequence, first_offset, last_offset, max_timestamp), now_ms
                    )
                self.log_end_offset = last_offset + 1
                if self.enough_replicas:
                    if self.last_stable_offset == self.high_watermark:
                        self.last_stable_offset = last_offset + 1
                    self.high_watermark = last_offset + 1
                return AppendResult(first_offset, last_offset, NO_TIMESTAMP, self.log_start_offset, False)
        return self._append_with_care(batch, leader_epoch, now_ms, origin, produce_version, walked)

    def _append_with_care(
        self,
        batch: WritableBuffer,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        produce_version: int,
        walked: bool,
    ) -> AppendResult:
        self.directory.disk.check_online()
        from_client = origin is _CLIENT
        try:
            judged = self._judge(batch, now_ms, from_client, produce_version, walked)
        except AppendRefused as refused:
            if refused.code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or not self._complete_windows(batch):
                raise
            judged = self._judge(batch, now_ms, from_client, produce_version, walked)
        if judged.repeated is not None:
            seen = judged.repeated
            return AppendResult(seen.first_offset, seen.last_offset, seen.timestamp, self.log_start_offset, True)
        return self._write(judged, leader_epoch, now_ms)

    def _write(self, judged: Judged, leader_epoch: int, now_ms: int) -> AppendResult:
        batch, first_offset = judged.batch, self.log_end_offset
        header = judged.header._replace(base_offset=first_offset, partition_leader_epoch=leader_epoch)
        _pack_offset_to_epoch(batch, 0, first_offset, header.batch_length, leader_epoch)
        last_offset, max_timestamp = header.last_offset, header.max_timestamp
        if leader_epoch > self._epoch_assigned:
            self._epochs.assign(leader_epoch, first_offset)
            self._epoch_assigned = self.leader_epoch = leader_epoch
        if self._active.should_roll(self._config, len(batch), last_offset, max_timestamp, now_ms, self._jitter_ms):
            self._roll(now_ms)
        self._active.append(batch, last_offset, max_timestamp)
        producers, marker = self.producers, judged.marker
        if marker is not None:
            completed = producers.completed_by(marker, first_offset)
            if completed is not None and completed.aborted:
                self._active.add_aborted(producers.aborted_txn(completed))
            producers.add_marker(marker, first_offset, now_ms)
        elif header.has_producer_id:
            producers.add_batch(header, now_ms)
        self.log_end_offset = last_offset + 1
        self._move_high_watermark()
        return AppendResult(first_offset, last_offset, judged.log_append_time_ms, self.log_start_offset, False)

    def _judge(
        self, batch: WritableBuffer, now_ms: int, from_client: bool, produce_version: int, walked: bool
    ) -> Judged:
        return judge(
            batch,
            self._config,
            self._demands,
            self.producers,
            now_ms,
            from_client=from_client,
            produce_version=produce_version,
            is_walked=walked,
        )

    def _complete_windows(self, batch: WritableBuffer) -> bool:
        """Before a batch is called out of order: True if more was read of its producer's past and it may be judged
        again."""
        header = BatchHeader._make(_unpack_header(batch))
        used = read_older_batches(header, self.producers, self._segments, self._window_scan_left)
        self._window_scan_left -= used
        return used > 0

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
        self._jitter_ms = jitter_ms(self.name, self._active.base_offset, self._config)

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

    def _move_high_watermark(self) -> None:
        if self.enough_replicas:
            self.high_watermark = self.log_end_offset
        self.producers.high_watermark_moved(self.high_watermark)
        self._settle_last_stable_offset()

    # --- deletion ---

    def delete_records_before(self, offset: int) -> int:
        """Move the log's start to `offset` (-1: the high watermark); returns where it is now. It never goes back.

        Raises KafkaError. The files go with the next apply_retention.
        """
        if not self._config.is_deleted_by_age_or_size:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"cleanup.policy of {self.topic} does not contain delete")
        wanted = self.high_watermark if offset == -1 else offset
        if not 0 <= wanted <= self.high_watermark:
            raise OffsetOutOfRange(
                f"{self.name}: cannot delete before {offset}, the high watermark is {self.high_watermark}"
            )
        self._start_at(max(wanted, self.log_start_offset))
        return self.log_start_offset

    def apply_retention(self, now_ms: int) -> list[str]:
        """Delete what the settings no longer keep, oldest first; returns a reason for each segment that went."""
        reasons = deletable_segments(
            self._segments,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            high_watermark=self.high_watermark,
            config=self._config,
            now_ms=now_ms,
        )
        if reasons and len(reasons) == len(self._segments):
            self._roll(now_ms)
        for _ in reasons:
            self._start_at(max(self._segments[1].base_offset, self.log_start_offset))
            doomed = self._segments[0]
            names = doomed.mark_deleted()
            doomed.log.close()  # a removed file keeps its room on the disk while it is open
            del self._segments[0]
            snapshot = self._snapshots.mark_deleted(doomed.base_offset)
            self._deletions.schedule(
                now_ms + self._config.file_delete_delay_ms, self.directory, names + ([snapshot] if snapshot else [])
            )
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
        """Give the descriptors back and write nothing: the partition is deleted, or its directory offline."""
        for segment in self._segments:
            segment.log.close()

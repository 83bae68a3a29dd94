"""A partition: an append-only log of batches, cut into segments, with its watermarks and producers.

Here it grows; reading is view.py's, and rolling, flushing and deleting are upkeep.py's. Knows batches and
offsets; knows nothing of requests, of other partitions, or of who waits for data. Single-threaded: one owner calls it,
only FlushPlan.run may run elsewhere.

Theory of operation: an append is judged, given its offset and leader epoch in place, written with one call, and only
then accounted for, so whatever fails before leaves nothing behind. With min.insync.replicas=1 this machine is enough,
and the high watermark is the log's end; with more it never moves (we are one replica).

Invariants: log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset; the last segment is active, the
others are sealed; offsets never repeat.
"""

from __future__ import annotations

from struct import Struct

from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import (
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    SEQUENCE_MAX,
    TRANSACTIONAL_MASK,
    BatchHeader,
    WritableBuffer,
    parse_header,
    set_max_timestamp,
)
from barnabas.protocol.records.control import EndTxnMarker, end_txn_marker
from barnabas.protocol.records.crc32c import crc32c
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.log.append import AppendOrigin, AppendResult, Judged, judge, read_older_batches
from barnabas.storage.log.upkeep import LogUpkeep
from barnabas.storage.log.validate import PRODUCE_VERSION_NEWEST, Demands, is_plain, needs_walk
from barnabas.storage.producers.producer import SeenBatch
from barnabas.storage.recovery.loader import LoadedLog, load_log
from barnabas.storage.recovery.opening import Opening
from barnabas.storage.refusals import AppendRefused

WINDOW_SCAN_OFFSETS_MAX = 200_000  # offsets read back, per run, to complete producers' windows after a load

_CLIENT = AppendOrigin.CLIENT
_PLAIN_SINCE_PRODUCE_VERSION = 7  # before, a codec may have to be refused
_unpack_header = HEADER.unpack_from
_pack_offset_to_epoch = Struct(">qii").pack_into  # base offset, batch length (unchanged), leader epoch


class PartitionLog(LogUpkeep):
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
        self._epoch_assigned = loaded.epochs.latest_epoch
        self._window_scan_left = WINDOW_SCAN_OFFSETS_MAX
        self.topic_id = topic_id
        super().__init__(directory, topic, partition, config, loaded, checkpoint, deletions)

    @classmethod
    def opening(
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
    ) -> Opening[PartitionLog]:
        """Load, and if need be recover, the partition in `directory`, which exists. `recovered` says what it took."""
        loaded = yield from load_log(directory, config, checkpoint, now_ms)
        return cls(directory, topic, partition, topic_id, config, loaded, checkpoint, deletions)

    # --- settings ---

    def _configure(self, config: LogConfig) -> None:
        super()._configure(config)
        self._demands = Demands.of(config)
        self.enough_replicas = config.min_insync_replicas <= 1  # else acks=-1 is NOT_ENOUGH_REPLICAS
        self._plain_bytes_max = min(config.max_message_bytes, config.segment_bytes)
        self._move_high_watermark()

    def set_leader_epoch(self, epoch: int) -> None:
        """The epoch this partition is led in from now on: readers see it at once, the file has it with an append."""
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
            # The common case in one glance: nothing but this may skip barnabas.storage.log.append.
            # fmt: off
            (sent_offset, length, _, magic, crc, attributes, last_delta, base_timestamp, max_timestamp,
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
                and NO_TIMESTAMP < max_timestamp >= base_timestamp
                and max_timestamp - now_ms <= self._demands.timestamp_after_max_ms
                and leader_epoch == self._epoch_assigned
                and (
                    producer_id < 0 and not attributes & TRANSACTIONAL_MASK
                    if producer is None
                    else producer.producer_epoch == producer_epoch
                    and producer.next_sequence == base_sequence
                    and (attributes & TRANSACTIONAL_MASK or producer.current_txn_first_offset is None)
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
                    if attributes & TRANSACTIONAL_MASK and producer.current_txn_first_offset is None:
                        self.producers.open_transaction(producer_id, producer, first_offset)
                self.log_end_offset = last_offset + 1
                if self.enough_replicas:
                    if not self.producers.unstable:
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

    def append_own(
        self, batch: bytearray, records_count: int, max_timestamp: int, *, leader_epoch: int, now_ms: int
    ) -> AppendResult:
        """Write a coordinator's batch that this process has just built: without producer, codec or anything to doubt.

        `batch` is changed in place. Raises as `append`.
        """
        size = len(batch)
        if self._demands.timestamp_type == LOG_APPEND_TIME or size > self._plain_bytes_max:
            return self.append(batch, leader_epoch=leader_epoch, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)
        self.directory.disk.check_online()
        first_offset = self.log_end_offset
        last_offset = first_offset + records_count - 1
        _pack_offset_to_epoch(batch, 0, first_offset, size - LOG_OVERHEAD, leader_epoch)
        self._place(batch, last_offset, max_timestamp, leader_epoch, now_ms)
        self.log_end_offset = last_offset + 1
        self._move_high_watermark()
        return AppendResult(first_offset, last_offset, NO_TIMESTAMP, self.log_start_offset, False)

    def append_marker(
        self,
        marker: EndTxnMarker,
        *,
        leader_epoch: int,
        now_ms: int,
        transaction_version: int = 0,
        hold: bool = False,
    ) -> AppendResult:
        """Write the marker that ends its producer's transaction; `marker.offset` is not looked at.

        With `hold` the transaction holds the last stable offset back until `release_marker`. A producer without a
        transaction here is fenced all the same. Raises AppendRefused for a fenced producer or coordinator, and
        StorageError; either way nothing was appended.
        """
        self.directory.disk.check_online()
        producers, offset = self.producers, self.log_end_offset
        producers.check_marker(marker, transaction_version)
        commit, producer_id, producer_epoch, coordinator_epoch, _, timestamp = marker
        batch = end_txn_marker(commit, producer_id, producer_epoch, coordinator_epoch, timestamp, offset, leader_epoch)
        log_append_time_ms = NO_TIMESTAMP
        if self._demands.timestamp_type == LOG_APPEND_TIME:
            log_append_time_ms = now_ms
            set_max_timestamp(batch, 0, LOG_APPEND_TIME, now_ms)
            marker = marker._replace(timestamp=now_ms)
        self._place(batch, offset, marker.timestamp, leader_epoch, now_ms)
        completed = producers.completed_by(marker, offset)
        if completed is not None and completed.aborted:
            self._active.add_aborted(producers.aborted_txn(completed))
        producers.add_marker(marker, offset, now_ms, hold=hold)
        self.log_end_offset = offset + 1
        self._move_high_watermark()
        return AppendResult(offset, offset, log_append_time_ms, self.log_start_offset, False)

    def release_marker(self, producer_id: int) -> None:
        """Let the last stable offset pass the transactions of this producer that were ended with `hold`."""
        self.producers.release(producer_id, self.high_watermark)
        self._settle_last_stable_offset()

    def note_unverified(self, batch: Buffer, now_ms: int) -> None:
        """A transactional batch, of a header's size at least, is refused for now and will come again, before others."""
        self.producers.add_unverified(BatchHeader._make(_unpack_header(batch)), now_ms)

    def _write(self, judged: Judged, leader_epoch: int, now_ms: int) -> AppendResult:
        batch, first_offset = judged.batch, self.log_end_offset
        header = judged.header._replace(base_offset=first_offset, partition_leader_epoch=leader_epoch)
        _pack_offset_to_epoch(batch, 0, first_offset, header.batch_length, leader_epoch)
        last_offset = header.last_offset
        self._place(batch, last_offset, header.max_timestamp, leader_epoch, now_ms)
        if header.has_producer_id:
            self.producers.add_batch(header, now_ms)
        self.log_end_offset = last_offset + 1
        self._move_high_watermark()
        return AppendResult(first_offset, last_offset, judged.log_append_time_ms, self.log_start_offset, False)

    def _place(
        self, batch: WritableBuffer, last_offset: int, max_timestamp: int, leader_epoch: int, now_ms: int
    ) -> None:
        """Bring the bytes into the log; nothing is accounted for yet. StorageError leaves the log as it was."""
        if leader_epoch > self._epoch_assigned:
            self._epochs.assign(leader_epoch, self.log_end_offset)
            self._epoch_assigned = self.leader_epoch = leader_epoch
        if self._active.should_roll(self._config, len(batch), last_offset, max_timestamp, now_ms, self._jitter_ms):
            self._roll(now_ms)
        self._active.append(batch, last_offset, max_timestamp)

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

    def _move_high_watermark(self) -> None:
        if self.enough_replicas:
            self.high_watermark = self.log_end_offset
            if not self.producers.unstable:
                self.last_stable_offset = self.log_end_offset
                return
        self.producers.high_watermark_moved(self.high_watermark)
        self._settle_last_stable_offset()

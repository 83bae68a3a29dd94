# compiled: mypyc
"""Appending at a log's end: batches of clients and coordinators, and the markers that end transactions.

Knows batches, offsets and producers; knows nothing of waiting requests. A batch is validated, gets its offset and
leader epoch in place, is written with one call, and only then the state is updated, so an earlier failure changes
nothing. The update of the state cannot fail; if it does, by a bug, the directory goes offline.

Invariant: offsets never repeat. `append_plain` accepts the common batch (an ordinary one of a known producer, or of
none) by one condition; every other goes to append_checks.py: of new producers and epochs, retries, batches to walk, to
refuse or to begin a segment with.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import (
    COMPRESSION_MASK,
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
from barnabas.protocol.records.compression import LZ4, NONE, lz4_blocks_are_independent
from barnabas.protocol.records.control import EndTxnMarker, marker_batch
from barnabas.protocol.records.crc32c import crc32c
from barnabas.protocol.records.record_times import largest_timestamp
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.disk import Disk
from barnabas.storage.log.append_checks import CheckedBatch, check_append, read_older_batches
from barnabas.storage.log.log_validator import (
    COUNTED_AT_ONCE_MAX,
    PRODUCE_VERSION_NEWEST,
    Demands,
    is_plain,
    needs_walk,
)
from barnabas.storage.log.roll import Roller
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.producers.producer_state_entry import SeenBatch
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.refusals import AppendRefused
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache

WINDOW_SCAN_OFFSETS_MAX = 200_000  # offsets read again, per run, to complete producers' windows after a load
PLAIN_SINCE_PRODUCE_VERSION: Final = 7  # before, a codec may have to be refused

_HeaderFields: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
# Declared, because compiled, numbers of type Any are objects: each comparison then takes a call.
_unpack_header: Final[Callable[[Buffer], _HeaderFields]] = HEADER.unpack_from
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor
_pack_offset_to_epoch: Final = Struct(">qii").pack_into  # base offset, batch length (unchanged), leader epoch


class AppendOrigin(Enum):
    """The writer of a batch. A coordinator's batch has no sequence, and its records are made by this broker."""

    CLIENT = "client"
    COORDINATOR = "coordinator"


_CLIENT: Final = AppendOrigin.CLIENT


class AppendResult(NamedTuple):
    """The place of a batch. For a duplicate: its existing place, with its stored timestamp.

    `log_append_time_ms` is -1 unless the topic uses LogAppendTime or the batch is a duplicate.
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    is_duplicate: bool


class Appender:
    """The end of one log. Every method raises AppendRefused or StorageError, or has appended."""

    __slots__ = (
        "_config",
        "_demands",
        "_disk",
        "_epoch_assigned",
        "_epochs",
        "_known_producer",
        "_plain_attributes",
        "_plain_bytes_max",
        "_producers",
        "_roller",
        "_segments",
        "_timestamp_after_max_ms",
        "_watermarks",
        "_window_scan_left",
    )

    def __init__(
        self,
        disk: Disk,
        segments: Segments,
        watermarks: Watermarks,
        producers: ProducerStateManager,
        epochs: LeaderEpochCache,
        roller: Roller,
        config: LogConfig,
    ) -> None:
        self._disk = disk
        self._segments = segments
        self._watermarks = watermarks
        self._producers = producers
        self._known_producer = producers.get  # bound for `append_plain`
        self._epochs = epochs
        self._epoch_assigned = epochs.latest_epoch
        self._roller = roller
        self._window_scan_left = WINDOW_SCAN_OFFSETS_MAX
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Apply these settings from the next append on."""
        self._config = config
        self._demands = demands = Demands.of(config)
        self._plain_attributes = demands.plain_attributes
        self._plain_bytes_max = min(config.max_message_bytes, config.segment_bytes)
        self._timestamp_after_max_ms = demands.timestamp_after_max_ms

    def needs_walk(self, batch: Buffer, now_ms: int) -> bool:
        """Return whether the topic requires storage.log.validate.walk for a batch, at least a header long."""
        if is_plain(batch, self._demands, now_ms):
            return False
        try:
            return needs_walk(parse_header(batch), self._demands, now_ms)
        except DecodeError:
            return False  # not a batch: append refuses it with the right code

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
        """Append one batch at the log's end. `batch` is changed in place: offset, leader epoch, log-append time.

        `walked`: storage.log.validate.walk was called before; otherwise it is called now if the batch needs it.
        Raises AppendRefused with the code for the client, or StorageError; either way nothing was appended.
        """
        if origin is _CLIENT and produce_version >= PLAIN_SINCE_PRODUCE_VERSION:
            first_offset = self.append_plain(batch, leader_epoch, now_ms)
            if first_offset >= 0:
                watermarks = self._watermarks
                last_offset, log_start_offset = watermarks.log_end_offset - 1, watermarks.log_start_offset
                return _new_tuple(AppendResult, (first_offset, last_offset, NO_TIMESTAMP, log_start_offset, False))
        return self._append_with_care(batch, leader_epoch, now_ms, origin, produce_version, walked)

    def append_plain(self, batch: WritableBuffer, leader_epoch: int, now_ms: int) -> int:
        """Append the common batch of a client and return its first offset, or -1 and do nothing if it is another kind.

        Raises StorageError, and then nothing was appended. For PLAIN_SINCE_PRODUCE_VERSION and later ones.
        """
        size = len(batch)
        if size <= HEADER_SIZE:
            return -1
        # The fields in their order, several on a line.
        # fmt: off
        (sent_offset, length, _, magic, crc, attributes, last_delta, base_timestamp, max_timestamp,
         producer_id, producer_epoch, base_sequence, count) = _unpack_header(batch)
        # fmt: on
        whole = batch if isinstance(batch, memoryview) else memoryview(batch)
        producer = self._known_producer(producer_id)
        active = self._segments.active
        watermarks = self._watermarks
        first_offset = watermarks.log_end_offset
        last_offset = first_offset + last_delta
        # One condition: only these batches may skip append_checks.py.
        if not (
            attributes in self._plain_attributes
            and magic == MAGIC
            and sent_offset == 0
            and length + LOG_OVERHEAD == size <= self._plain_bytes_max
            and last_delta + 1 == count > 0
            and NO_TIMESTAMP < max_timestamp >= base_timestamp
            and max_timestamp - now_ms <= self._timestamp_after_max_ms
            and leader_epoch == self._epoch_assigned
            and (
                producer_id < 0 and not attributes & TRANSACTIONAL_MASK
                if producer is None
                else producer.producer_epoch == producer_epoch
                and producer.next_sequence == base_sequence
                and (attributes & TRANSACTIONAL_MASK or producer.current_txn_first_offset is None)
            )
            and crc32c(whole[21:]) == crc
            and (
                count <= COUNTED_AT_ONCE_MAX
                and largest_timestamp(bytes(whole[HEADER_SIZE:]), base_timestamp, count) == max_timestamp
                if (codec := attributes & COMPRESSION_MASK) == NONE
                else producer_id >= 0 and (codec != LZ4 or lz4_blocks_are_independent(whole[HEADER_SIZE:]))
            )
            and not active.should_roll(size, last_offset, max_timestamp, now_ms)
        ):
            return -1
        _pack_offset_to_epoch(batch, 0, first_offset, length, leader_epoch)
        active.append(batch, last_offset, max_timestamp)
        try:
            if producer is not None:
                last_sequence = base_sequence + last_delta
                if last_sequence > SEQUENCE_MAX:
                    last_sequence -= SEQUENCE_MAX + 1
                seen = base_sequence, last_sequence, first_offset, last_offset, max_timestamp
                producer.add(_new_tuple(SeenBatch, seen), now_ms)
                if attributes & TRANSACTIONAL_MASK and producer.current_txn_first_offset is None:
                    self._producers.open_transaction(producer_id, producer, first_offset)
                if (encoded := self._producers.encoded) is not None:
                    encoded.changed(producer_id)
            watermarks.extend(last_offset + 1)
        except BaseException as mistake:
            self._not_accounted_for(first_offset, mistake)
            raise
        return first_offset

    def _append_with_care(
        self,
        batch: WritableBuffer,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        produce_version: int,
        walked: bool,
    ) -> AppendResult:
        self._disk.check_online()
        from_client = origin is _CLIENT
        try:
            judged = self._judge(batch, now_ms, from_client, produce_version, walked)
        except AppendRefused as refused:
            if refused.code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or not self._complete_windows(batch):
                raise
            judged = self._judge(batch, now_ms, from_client, produce_version, walked)
        if judged.repeated is not None:
            seen = judged.repeated
            log_start_offset = self._watermarks.log_start_offset
            return AppendResult(seen.first_offset, seen.last_offset, seen.timestamp, log_start_offset, True)
        return self._write(judged, leader_epoch, now_ms)

    def append_own(
        self, batch: bytearray, records_count: int, max_timestamp: int, *, leader_epoch: int, now_ms: int
    ) -> AppendResult:
        """Append a coordinator's batch built by this process: without producer or codec, and not validated.

        `batch` is changed in place. Raises as `append`.
        """
        size = len(batch)
        if self._demands.timestamp_type == LOG_APPEND_TIME or size > self._plain_bytes_max:
            return self.append(batch, leader_epoch=leader_epoch, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)
        self._disk.check_online()
        watermarks = self._watermarks
        first_offset = watermarks.log_end_offset
        last_offset = first_offset + records_count - 1
        _pack_offset_to_epoch(batch, 0, first_offset, size - LOG_OVERHEAD, leader_epoch)
        self._place(batch, last_offset, max_timestamp, leader_epoch, now_ms)
        try:
            watermarks.extend(last_offset + 1)
        except BaseException as mistake:
            self._not_accounted_for(first_offset, mistake)
            raise
        return _new_tuple(AppendResult, (first_offset, last_offset, NO_TIMESTAMP, watermarks.log_start_offset, False))

    def append_marker(
        self,
        marker: EndTxnMarker,
        *,
        leader_epoch: int,
        now_ms: int,
        transaction_version: int = 0,
        hold: bool = False,
    ) -> AppendResult:
        """Append the marker that ends its producer's transaction; `marker.offset` is ignored.

        With `hold` the transaction limits the last stable offset until its release. A producer without a
        transaction here is fenced as well. Raises AppendRefused for a fenced producer or coordinator, and
        StorageError; either way nothing was appended.
        """
        self._disk.check_online()
        producers, watermarks = self._producers, self._watermarks
        offset = watermarks.log_end_offset
        producers.check_marker(marker, transaction_version)
        batch = marker_batch(marker, offset, leader_epoch)
        log_append_time_ms = NO_TIMESTAMP
        if self._demands.timestamp_type == LOG_APPEND_TIME:
            log_append_time_ms = now_ms
            set_max_timestamp(batch, 0, LOG_APPEND_TIME, now_ms)
            marker = marker._replace(timestamp=now_ms)
        completed = None if marker.commit else producers.completed_by(marker, offset)
        aborted = producers.aborted_txn(completed) if completed is not None and completed.aborted else None
        if aborted is not None:
            self._segments.active.expect_aborted()
        self._place(batch, offset, marker.timestamp, leader_epoch, now_ms)
        try:
            if aborted is not None:
                self._segments.active.add_aborted(aborted)
            producers.add_marker(marker, offset, now_ms, hold=hold)
            watermarks.extend(offset + 1)
        except BaseException as mistake:
            self._not_accounted_for(offset, mistake)
            raise
        return _new_tuple(AppendResult, (offset, offset, log_append_time_ms, watermarks.log_start_offset, False))

    def _write(self, judged: CheckedBatch, leader_epoch: int, now_ms: int) -> AppendResult:
        watermarks = self._watermarks
        batch, first_offset = judged.batch, watermarks.log_end_offset
        header = judged.header._replace(base_offset=first_offset, partition_leader_epoch=leader_epoch)
        _pack_offset_to_epoch(batch, 0, first_offset, header.batch_length, leader_epoch)
        last_offset = header.last_offset
        self._place(batch, last_offset, header.max_timestamp, leader_epoch, now_ms)
        try:
            if header.has_producer_id:
                self._producers.add_batch(header, now_ms)
            watermarks.extend(last_offset + 1)
        except BaseException as mistake:
            self._not_accounted_for(first_offset, mistake)
            raise
        return AppendResult(first_offset, last_offset, judged.log_append_time_ms, watermarks.log_start_offset, False)

    def _place(
        self, batch: WritableBuffer, last_offset: int, max_timestamp: int, leader_epoch: int, now_ms: int
    ) -> None:
        """Write the bytes to the log, without updating the state. StorageError leaves the log unchanged."""
        if leader_epoch > self._epoch_assigned:
            self._epochs.assign(leader_epoch, self._watermarks.log_end_offset)
            self._epoch_assigned = leader_epoch
        if self._segments.active.should_roll(len(batch), last_offset, max_timestamp, now_ms):
            self._roller.make_room(len(batch), last_offset, max_timestamp, now_ms)
        self._segments.active.append(batch, last_offset, max_timestamp)

    def _not_accounted_for(self, offset: int, mistake: BaseException) -> None:
        """Take the directory offline after a bug: log and offsets disagree, and the next batch would repeat the offset.

        So nothing is written any more; the next start reads the offsets from the log.
        """
        path = self._segments.active.log.path
        what = f"the batch at offset {offset} was written, but the log's state lacks it"
        self._disk.go_offline(f"{path}: {what}: {mistake!r}")

    def _judge(
        self, batch: WritableBuffer, now_ms: int, from_client: bool, produce_version: int, walked: bool
    ) -> CheckedBatch:
        return check_append(
            batch,
            self._config,
            self._demands,
            self._producers,
            now_ms,
            from_client=from_client,
            produce_version=produce_version,
            is_walked=walked,
        )

    def _complete_windows(self, batch: WritableBuffer) -> bool:
        """Read older batches before a batch is refused as out of order; return whether it must be judged again."""
        header = BatchHeader._make(_unpack_header(batch))
        used = read_older_batches(header, self._producers, self._segments.all, self._window_scan_left)
        self._window_scan_left -= used
        return used > 0

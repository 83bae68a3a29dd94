# compiled: mypyc
"""A partition: an append-only log of batches, cut into segments, with its watermarks and producers.

The interface: PartitionLog creates the parts of a log and offers their methods. Each part has its own state, and knows
only the parts passed to it: the segments (segments.py), the watermarks (watermarks.py), appends (append.py), reads
(read.py, offsets.py), rolling (roll.py), flushing (flush.py), retention (retention.py), how much can be
compacted (cleaning_inputs.py) and replacing segments by compacted ones (segment_replacement.py).

Knows batches and offsets; knows nothing of requests, of other partitions, or of waiting readers. Single-threaded:
one owner calls it, only FlushPlan.run may run elsewhere. Modules for inspection only (batches.py, log_cells.py) are
imported when they are needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import StorageError
from barnabas.storage.log.append import Appender, AppendResult
from barnabas.storage.log.flush import Flusher, FlushPlan
from barnabas.storage.log.offsets import FoundOffset, OffsetLookups
from barnabas.storage.log.read import Reader
from barnabas.storage.log.retention import Retention
from barnabas.storage.log.roll import Roller
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.producers.producer_state_entry import ProducerState
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.storage.log.batches import LogBatch
    from barnabas.storage.log.cleaning.cleanable import Cleanable
    from barnabas.storage.log.log_cells import AbortedRanges, Cell
    from barnabas.storage.recovery.log_loader import LoadedLog


class PartitionLog:
    """One partition on disk. Offsets are those of Kafka; every bound is exclusive.

    Methods that every request needs are the part's own, bound when the log is created, without the cost of another
    call: `append`, `append_plain`, `append_own` and `needs_walk` (Appender), `read` and `readable_bytes` (Reader).
    """

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
        from barnabas.storage.log.cleaning.segment_replacement import Replacer

        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.name = name = f"{topic}-{partition}"
        self.recovered = loaded.recovered
        """The result of the recovery at opening."""
        self.producers = producers = loaded.producers
        self._config = config
        self._epochs = epochs = loaded.epochs
        self._sums = loaded.sums
        self._snapshots = loaded.snapshots
        self._segments = segments = Segments(loaded.segments)
        self._size_when_opened = segments.size
        self._watermarks = watermarks = Watermarks(
            name,
            producers,
            config,
            log_start_offset=loaded.log_start_offset,
            log_end_offset=loaded.recovered.log_end_offset,
            high_watermark=checkpoint.high_watermark,
            recovery_point=loaded.recovery_point,
        )
        self._flusher = Flusher(directory, segments, watermarks, loaded.snapshots, epochs, loaded.sums, config)
        self._roller = Roller(directory, name, segments, watermarks, producers, loaded.snapshots, self._flusher, config)
        self._retention = Retention(
            directory, name, segments, watermarks, loaded.snapshots, epochs, self._roller, deletions, config
        )
        self.replacer = Replacer(directory, segments, loaded.snapshots, loaded.sums, deletions, config)
        """Replaces segments by compacted ones."""
        self.is_being_cleaned = False
        """Whether the log is being compacted: retention waits until that is over."""
        self._appender = Appender(directory.disk, segments, watermarks, producers, epochs, self._roller, config)
        self._reader = Reader(name, segments, watermarks)
        self._lookups = OffsetLookups(segments, watermarks, epochs)
        self.needs_walk = self._appender.needs_walk
        self.append = self._appender.append
        self.append_plain = self._appender.append_plain
        self.append_own = self._appender.append_own
        self.read = self._reader.read
        self.readable_bytes = self._reader.readable_bytes
        self._note_what_answers_wait_for()

    def close(self) -> None:
        """Close the log cleanly: indexes, producer snapshot and epochs written, everything synced. It is not used
        again.

        After a StorageError it is still open.
        """
        self.replacer.finish()
        self._roller.seal_active()
        self._flusher.flush_now()
        self.abandon()

    def observe_rolls(self, callback: Callable[[str, int, bool], None]) -> None:
        """Set `Roller.when_rolls`."""
        self._roller.when_rolls = callback

    def abandon(self) -> None:
        """Close the descriptors and write nothing, including plans that have not run.

        The partition is deleted, or closed, or its directory is offline: the name or partition may be in use elsewhere.
        """
        for files in (self.replacer, self._epochs, self._sums, self._snapshots):
            files.give_up()
        for segment in self._segments.all:
            segment.indexes.give_up()
            segment.log.close()

    # --- settings ---

    @property
    def config(self) -> LogConfig:
        """The topic's settings; a new value takes effect with the next append."""
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._watermarks.configure(config)
        self._flusher.configure(config)
        self._roller.configure(config)
        self._retention.configure(config)
        self.replacer.configure(config)
        self._appender.configure(config)
        self._note_what_answers_wait_for()

    def _note_what_answers_wait_for(self) -> None:
        self.answers_at_once = (
            self.directory.disk.full_reason is None
            and self._watermarks.enough_replicas
            and self._config.flush_messages == LONG_MAX
        )
        """Whether an append is done and answered at once: there is space, and no flush or replica is needed first.
        Independent of `acks`.
        """

    def room_changed(self) -> None:
        """Update the state after the data directory became full, or got space again."""
        self._note_what_answers_wait_for()

    @property
    def enough_replicas(self) -> bool:
        """Whether this machine alone satisfies min.insync.replicas; else acks=-1 is NOT_ENOUGH_REPLICAS."""
        return self._watermarks.enough_replicas

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of this partition, whether or not anything was appended in it; -1 before the first."""
        return self._epochs.leader_epoch

    def set_leader_epoch(self, epoch: int) -> None:
        """Set the leader epoch of this partition: readers see it at once, the file has it with an append."""
        self._epochs.leader_epoch = epoch

    # --- other appends and reads ---

    def append_marker(
        self,
        marker: EndTxnMarker,
        *,
        leader_epoch: int,
        now_ms: int,
        transaction_version: int = 0,
        hold: bool = False,
    ) -> AppendResult:
        """Append the marker that ends its producer's transaction: Appender.append_marker."""
        return self._appender.append_marker(
            marker, leader_epoch=leader_epoch, now_ms=now_ms, transaction_version=transaction_version, hold=hold
        )

    def release_marker(self, producer_id: int) -> None:
        """Release the transactions of this producer that were ended with `hold`."""
        self._watermarks.release(producer_id)

    def read_own(self, offset: int, max_bytes: int) -> bytes:
        """Return at least a batch, up to the log end: for a coordinator, which wrote and acknowledged all of it."""
        return self._reader.read_own(offset, max_bytes)

    def batches(self, offset: int) -> Iterator[LogBatch]:
        """Yield the headers of the batches from the one with `offset` on, to be processed in slices: batches.py."""
        from barnabas.storage.log.batches import batches_from

        return batches_from(self._segments, offset)

    def aborted_around(self, producer_id: int, offset: int) -> Steps[AbortedTxn | None]:
        """Return the aborted transaction of a producer around `offset`, by the transaction indexes. CorruptFile."""
        from barnabas.storage.log.batches import aborted_around

        return aborted_around(self._segments, producer_id, offset)

    def find_offset(self, timestamp: int, *, committed: bool) -> Steps[FoundOffset]:
        """Return the result of one ListOffsets timestamp, special ones included. ValueError for unknown ones."""
        return self._lookups.find(timestamp, committed=committed)

    def log_cells(self, first: int, end: int, cells_max: int) -> Steps[list[Cell]]:
        """Return the batches of [first, end), or samples of them, as a strip of cells: log_cells.py. StorageError."""
        from barnabas.storage.log.log_cells import log_cells

        return log_cells(self._segments, self.producers, first, end, cells_max)

    def aborted_ranges(self, first: int, end: int) -> Steps[AbortedRanges]:
        """Return the aborted transactions that overlap [first, end), by producer id. StorageError."""
        from barnabas.storage.log.log_cells import aborted_ranges

        return aborted_ranges(self._segments, first, end)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return (largest epoch not above `epoch`, offset where the next one begins); (-1, -1) if unknown."""
        return self._lookups.end_offset_for_epoch(epoch)

    # --- flushing: flush.py ---

    def flush_due(self, now_ms: int) -> bool:
        """Return whether a background flush is due. Call it regularly."""
        return self._flusher.is_due(now_ms)

    def begin_flush(self, *, sealed_only: bool = False) -> FlushPlan | None:
        """Return a plan to run in any thread, then `end_flush` or `flush_failed`. None if all is synced."""
        return self._flusher.begin(sealed_only=sealed_only)

    def end_flush(self, plan: FlushPlan) -> None:
        """Move the recovery point after the plan ran, and the high watermark if it waited for that."""
        self._flusher.finish(plan)

    def flush_failed(self, plan: FlushPlan, error: StorageError) -> None:
        """End a plan that raised: nothing moves; after a failed sync the directory is offline until a restart."""
        self._flusher.failed(plan, error)

    # --- offsets: watermarks.py explains them ---

    @property
    def log_start_offset(self) -> int:
        """The first offset that readers may fetch."""
        return self._watermarks.log_start_offset

    @property
    def last_stable_offset(self) -> int:
        """The last stable offset, where readers of committed records stop."""
        return self._watermarks.last_stable_offset

    @property
    def high_watermark(self) -> int:
        """The high watermark, where readers stop."""
        return self._watermarks.high_watermark

    @property
    def log_end_offset(self) -> int:
        """The next offset to be assigned."""
        return self._watermarks.log_end_offset

    @property
    def recovery_point(self) -> int:
        """The offset below which everything survives a power cut."""
        return self._watermarks.recovery_point

    @property
    def flush_before_answer(self) -> bool:
        """Whether flush.messages is reached: an append is then visible and answered after a flush."""
        return self._watermarks.is_sync_awaited

    # --- segments ---

    def delete_records_before(self, offset: int) -> int:
        """Move the log's start to `offset` (-1: the high watermark); return the new start. It never goes back.

        Raises KafkaError. The files are removed by the next `apply_retention`.
        """
        if self._config.is_compacted and not self._config.is_deleted_by_age_or_size:  # without a policy, only manually
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"cleanup.policy of {self.topic} does not contain delete")
        return self._retention.start_at(offset)

    def settle_ages(self, now_ms: int) -> Steps[None]:
        """Determine, before `apply_retention`, the age of every segment that it may find too old."""
        return self._retention.settle_ages(now_ms)

    def apply_retention(self, now_ms: int, at_most: int = sys.maxsize) -> list[str]:
        """Delete the segments that the settings do not retain, oldest first; return a reason for each.

        `at_most`: how many to delete; the next call continues. Nothing is deleted while the log is compacted: as in
        Kafka it waits for the next time. Compacted segments whose swap failed are put in place first. It is durable
        after `retention_job`. StorageError.
        """
        if self.is_being_cleaned:
            return []
        self.replacer.finish()
        return self._retention.apply(now_ms, at_most)

    def retention_job(self) -> SyncJob | None:
        """Return a job for a thread that makes the deletions durable; None if they are."""
        return self._retention.sync_job()

    @property
    def retention_awaits_flush(self) -> bool:
        """Whether a segment to delete waits for a flush; False while nothing is deleted anyway."""
        return self._retention.awaits_flush and not self.is_being_cleaned

    def cleanable(self, first_dirty_offset: int, now_ms: int) -> Steps[Cleanable]:
        """Return the part that can be compacted now. StorageError."""
        from barnabas.storage.log.cleaning.cleaning_inputs import dirtiness

        return dirtiness(self._segments, self._watermarks, self._config, first_dirty_offset, now_ms)

    def aborted_behind(self, offset: int) -> Steps[list[AbortedTxn]]:
        """Return the aborted transactions that begin below `offset`, a segment's base, and end after it."""
        from barnabas.storage.log.cleaning.cleaning_inputs import aborted_behind

        return aborted_behind(self._segments, offset)

    @property
    def extents(self) -> tuple[tuple[int, int], ...]:
        """(base offset, size in bytes) of each segment; the last is active."""
        return tuple((segment.base_offset, segment.size) for segment in self._segments.all)

    @property
    def first_segment_base_offset(self) -> int:
        """The base offset of the first file, also after a power cut: at or below the log's start."""
        return self._retention.first_on_disk

    @property
    def size(self) -> int:
        """The bytes in the segments, without their indexes."""
        return self._segments.size

    @property
    def segments_count(self) -> int:
        """The number of segments."""
        return len(self._segments.all)

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each segment, by its file's name: bytes after it in the file do not belong to the log."""
        return {segment.log.name: segment.size for segment in self._segments.all}

    @property
    def files(self) -> list[DiskFile]:
        """The files of the segments, which are opened when they are read."""
        return [segment.log for segment in self._segments.all]

    @property
    def appended(self) -> tuple[int, int]:
        """(records, bytes) appended since the log was opened, control records among them."""
        appended_bytes = self.size + self._segments.bytes_replaced - self._size_when_opened
        return self.log_end_offset - self.recovered.log_end_offset, appended_bytes

    # --- producers ---

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a batch of this producer would continue a transaction, not begin one."""
        return self.producers.has_open_transaction(producer_id, producer_epoch)

    def would_begin_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a transactional batch of this producer would begin a transaction here."""
        return self.producers.would_begin_transaction(producer_id, producer_epoch)

    @property
    def first_undecided(self) -> tuple[int, int] | None:
        """The (first offset, producer id) of the transaction that limits the last stable offset; None without one."""
        return next(iter(self.producers.unstable.items()), None)

    def transaction_begin(self, producer_id: int) -> int | None:
        """Return the first offset of the transaction that a producer has open here; None without one."""
        producer = self.producers.get(producer_id)
        return None if producer is None else producer.current_txn_first_offset

    def is_fenced(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a batch of this producer will be refused for its epoch."""
        return self.producers.is_fenced(producer_id, producer_epoch)

    def note_refused(self, header: BatchHeader, refused_ms: int) -> None:
        """Note that a client's batch was refused and will be retried: not after a later one of its producer."""
        self.producers.add_refused(header, refused_ms)

    def producers_state(self) -> list[ProducerState]:
        """Return the state of every producer, for DescribeProducers."""
        return self.producers.states()

    def remove_expired_producers(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Remove producers that have not written for producer.id.expiration.ms; return their ids."""
        return self.producers.expire(now_ms, expiration_ms)

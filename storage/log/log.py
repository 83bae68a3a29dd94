"""A partition: an append-only log of batches, cut into segments, with its watermarks and producers.

This is the door: PartitionLog makes the parts of a log and offers what they do. Each part has its own state, and knows
only the parts it is given: the segments (segments.py), the watermarks (watermarks.py), what comes in (append.py), what
is read (read.py, offsets.py), rolling (roll.py), flushing (flush.py) and retention (retention.py).

Knows batches and offsets; knows nothing of requests, of other partitions, or of who waits for data. Single-threaded:
one owner calls it, only FlushPlan.run may run elsewhere.
"""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.errors import StorageError
from barnabas.storage.log.append import Appender
from barnabas.storage.log.flush import Flusher
from barnabas.storage.log.offsets import OffsetLookups
from barnabas.storage.log.read import Reader
from barnabas.storage.log.retention import Retention
from barnabas.storage.log.roll import Roller
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.producers.producer import ProducerState
from barnabas.storage.recovery.loader import LoadedLog, load_log
from barnabas.storage.recovery.opening import Opening


class PartitionLog:
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
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.name = name = f"{topic}-{partition}"
        self.recovered = loaded.recovered
        """What opening took."""
        self.producers = producers = loaded.producers
        self._config = config
        self._epochs = epochs = loaded.epochs
        self._segments = segments = Segments(loaded.segments)
        self._size_when_opened = segments.size
        self._watermarks = watermarks = Watermarks(
            name,
            producers,
            config,
            log_start_offset=loaded.log_start_offset,
            log_end_offset=loaded.recovered.log_end_offset,
            high_watermark=checkpoint.high_watermark,
        )
        self._flusher = Flusher(
            directory, segments, watermarks, loaded.snapshots, epochs, loaded.recovery_point, config
        )
        self._roller = Roller(directory, name, segments, watermarks, producers, loaded.snapshots, self._flusher, config)
        self._retention = Retention(
            directory, name, segments, watermarks, loaded.snapshots, epochs, self._roller, deletions, config
        )
        self._appender = Appender(directory.disk, segments, watermarks, producers, epochs, self._roller, config)
        self._reader = Reader(name, segments, watermarks)
        self._lookups = OffsetLookups(segments, watermarks, epochs)
        self._bind()

    def _bind(self) -> None:
        """Offer what the parts do, at the cost of a call on the part itself."""
        appender, reader, lookups, flusher = self._appender, self._reader, self._lookups, self._flusher
        self.needs_walk = appender.needs_walk
        self.append = appender.append
        self.append_own = appender.append_own
        self.append_marker = appender.append_marker
        self.note_unverified = appender.note_unverified
        self.release_marker = self._watermarks.release
        self.read = reader.read
        self.read_own = reader.read_own
        self.readable_bytes = reader.readable_bytes
        self.find_offset = lookups.find
        self.end_offset_for_epoch = lookups.end_offset_for_epoch
        self.flush_due = flusher.is_due
        self.begin_flush = flusher.begin
        self.end_flush = flusher.finish
        self.flush_failed = flusher.failed
        self.delete_replaced_before = self._retention.start_at
        self.settle_ages = self._retention.settle_ages
        self.apply_retention = self._retention.apply

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

    def close(self) -> None:
        """A clean stop: indexes, producer snapshot and epochs written, everything synced. The log is not used again.

        After a StorageError it is open as before.
        """
        try:
            self._roller.seal_active()
            self._flusher.flush_now()
        except StorageError:
            self._roller.unseal_active()
            raise
        self.abandon()

    def abandon(self) -> None:
        """Give the descriptors back and write nothing, plans that have not run included.

        The partition is deleted, or closed, or its directory offline: another may have its name, or the partition.
        """
        self._epochs.give_up()
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
        self._appender.configure(config)

    @property
    def enough_replicas(self) -> bool:
        """Whether min.insync.replicas is met by this machine alone; else acks=-1 is NOT_ENOUGH_REPLICAS."""
        return self._watermarks.enough_replicas

    @property
    def leader_epoch(self) -> int:
        """The epoch this partition is led in, whether or not anything was appended in it; -1 before the first."""
        return self._epochs.leader_epoch

    def set_leader_epoch(self, epoch: int) -> None:
        """The epoch this partition is led in from now on: readers see it at once, the file has it with an append."""
        self._epochs.leader_epoch = epoch

    # --- offsets: watermarks.py says what each is ---

    @property
    def log_start_offset(self) -> int:
        """The first offset readers may ask for."""
        return self._watermarks.log_start_offset

    @property
    def last_stable_offset(self) -> int:
        """Where readers of committed records stop."""
        return self._watermarks.last_stable_offset

    @property
    def high_watermark(self) -> int:
        """Where readers stop."""
        return self._watermarks.high_watermark

    @property
    def log_end_offset(self) -> int:
        """The next offset to be assigned."""
        return self._watermarks.log_end_offset

    @property
    def recovery_point(self) -> int:
        """Everything below survives a power cut."""
        return self._flusher.recovery_point

    @property
    def flush_before_answer(self) -> bool:
        """Whether flush.messages is reached: an append is then answered after a flush."""
        return self._flusher.is_due_before_answer

    # --- segments ---

    def delete_records_before(self, offset: int) -> int:
        """Move the log's start to `offset` (-1: the high watermark); returns where it is now. It never goes back.

        Raises KafkaError. The files go with the next `apply_retention`.
        """
        if not self._config.is_deleted_by_age_or_size:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"cleanup.policy of {self.topic} does not contain delete")
        return self._retention.start_at(offset)

    @property
    def first_segment_base_offset(self) -> int:
        """Where the files begin, at or below the log's start."""
        return self._segments.all[0].base_offset

    @property
    def size(self) -> int:
        """Bytes in the segments, without their indexes."""
        return self._segments.size

    @property
    def segments_count(self) -> int:
        """How many segments there are."""
        return len(self._segments.all)

    @property
    def files(self) -> list[DiskFile]:
        """The files of the segments, which open themselves when they are read."""
        return [segment.log for segment in self._segments.all]

    @property
    def appended(self) -> tuple[int, int]:
        """(records, bytes) appended since the log was opened, control records among them."""
        appended_bytes = self.size + self._segments.bytes_replaced - self._size_when_opened
        return self.log_end_offset - self.recovered.log_end_offset, appended_bytes

    # --- producers ---

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a batch of this producer would go on with a transaction, not begin one."""
        return self.producers.has_open_transaction(producer_id, producer_epoch)

    def is_fenced(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a batch of this producer will be refused for its epoch."""
        return self.producers.is_fenced(producer_id, producer_epoch)

    def producers_state(self) -> list[ProducerState]:
        """Every producer, as DescribeProducers shows it."""
        return self.producers.states()

    def remove_expired_producers(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that have not written for producer.id.expiration.ms; returns how many."""
        return self.producers.expire(now_ms, expiration_ms)

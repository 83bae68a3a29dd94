# compiled: mypyc
"""Rolling: the active segment is sealed, and the next one begins at the log end.

Knows the files of a sealed segment: its indexes, and the producer snapshot at its end, which confirms them and so is
written to the disk after them. The segment (`segment/segment.py`, `should_roll`) decides when it is full, by the
settings it gets here.

Invariant: the last segment is active, the others are sealed. If a roll or a close fails the last one may be sealed
until the next append, which continues in it; or the directory is offline.
"""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from barnabas.protocol.files.names import FileKind, segment_file
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError
from barnabas.storage.log.flush import Flusher
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.segment.segment import Segment


class Roller:
    """Creates and seals the segments of one log."""

    __slots__ = (
        "_config",
        "_directory",
        "_flusher",
        "_name",
        "_producers",
        "_segments",
        "_snapshots",
        "_watermarks",
        "when_rolls",
    )

    def __init__(
        self,
        directory: Directory,
        name: str,
        segments: Segments,
        watermarks: Watermarks,
        producers: ProducerStateManager,
        snapshots: ProducerSnapshots,
        flusher: Flusher,
        config: LogConfig,
    ) -> None:
        self._directory = directory
        self._name = name
        self._segments = segments
        self._watermarks = watermarks
        self._producers = producers
        self._snapshots = snapshots
        self._flusher = flusher
        self.when_rolls: Callable[[str, int, bool], None] | None = None
        """Called before and after each roll: the log's name, its active segment's base offset, whether it is over."""
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Apply these settings from the next append on."""
        self._config = config
        self._set_limits()

    def make_room(self, batch_size: int, last_offset: int, max_timestamp: int, now_ms: int) -> None:
        """Begin the next segment for a batch that the active one cannot take, or reactivate it if sealed. StorageError.

        It is sealed if a roll or a close failed. Reactivating it reads files, which may be the operation that failed
        there: so that is done as late as this, and again with the next append if it fails.
        """
        active = self._segments.active
        if active.is_sealed:
            active.activate()
            if not active.should_roll(batch_size, last_offset, max_timestamp, now_ms):
                return
        self.roll(now_ms)

    def roll(self, now_ms: int) -> None:
        """Seal the active segment and begin the next at the log end. On StorageError the old one stays the last."""
        end_offset = self._watermarks.log_end_offset
        notify = self.when_rolls
        if notify is not None:
            notify(self._name, self._segments.active.base_offset, False)
        try:
            self._seal(end_offset)
            fresh = Segment.create(self._directory, end_offset, self._config, now_ms)
        except StorageError:
            self._undo(end_offset)
            raise
        self._segments.add(fresh)
        self._set_limits()
        if notify is not None:
            notify(self._name, end_offset, True)

    def seal_active(self) -> None:
        """Write the active segment's indexes, then the producer snapshot at its end.

        If flushes passed the segment's start the indexes are synced in between: recovery treats a segment as durable if
        it ends at the recovery point and has a snapshot there.
        """
        active = self._segments.active
        if not active.is_sealed:
            active.seal()
        if self._flusher.recovery_point > active.base_offset:
            self._flusher.flush_now([active])
        self._snapshots.write(self._watermarks.log_end_offset, self._producers.snapshot())

    def _seal(self, end_offset: int) -> None:
        """Seal for a roll, without a blocking sync. The next flush syncs, and writes the snapshot last."""
        active, snapshots = self._segments.active, self._snapshots
        if not active.is_sealed:
            active.seal()
        if not self._flusher.reaches(end_offset):
            snapshots.write(end_offset, self._producers.snapshot())  # the flush that passes it syncs the indexes
        elif end_offset not in snapshots.offsets:
            snapshots.write_later(end_offset, self._producers.snapshot())
        elif active.files_to_sync().paths:  # the snapshot confirms other indexes than these
            self._flusher.flush_now([active])

    def _undo(self, base_offset: int) -> None:
        """Keep the active segment; the next one's empty file must not come back once this one ends after it."""
        self._snapshots.take_back(base_offset)
        try:
            self._directory.remove(segment_file(base_offset, FileKind.LOG))
            self._directory.sync()
        except StorageError as error:
            self._directory.disk.go_offline(f"cannot continue after a failed roll: {error}")

    def _set_limits(self) -> None:
        """Set the limits. Each segment ends up to segment.jitter.ms earlier, constant for each segment."""
        active, config = self._segments.active, self._config
        jitter_max_ms = min(config.segment_jitter_ms, config.roll_ms)
        jitter_ms = crc32(f"{self._name}-{active.base_offset}".encode()) % jitter_max_ms if jitter_max_ms > 0 else 0
        active.set_limits(config, jitter_ms)

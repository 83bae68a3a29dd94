"""Watches the free space in the data directories: one without any is `full` until it has some, without a restart.

Knows the directories, the clock, and the housekeeping, which deletes files. The modules that call it decide what is
refused meanwhile (`check_disk_space` for producers, `check_may_grow`). docs/decisions/0122 gives the rules and reasons.

Theory of operation: a directory is full when less than the reserve is left on its file system, or when a call found no
space, in any thread. Then its logs do not use the fast path any more, so that every append of a producer is checked;
files that wait for `file.delete.delay.ms` are removed now, and retention runs at once, and again every ten seconds,
because more records become too old as time passes. As soon as there is twice the reserve, a small file is written to
test whether the space can be used, and the directory is not full any more. Clients and coordinators retry by
themselves.

Invariant: `Disk.full_reason` changes here only, on the event loop, and every open log of the directory is notified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.broker.partitions.disk_space import free_space
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.runtime.clock import Clock, Timer
    from barnabas.storage.directories.log_directories import LogDirectories
    from barnabas.storage.directories.log_directory import LogDirectory
    from barnabas.storage.disk.files import Volume
    from barnabas.storage.errors import DirectoryFull
    from barnabas.storage.log.log import PartitionLog

_log = logger("storage")
RETENTION_MS = 10_000
TRIAL_NAME = "barnabas-room.tmp"
"""A small file that is written to test whether there is free space again."""
_TRIAL_BYTES = 64 << 10


class FreesDiskSpace(Protocol):
    """The part of the housekeeping that frees space."""

    def retain_now(self) -> None:
        """Begin a retention pass, unless one is in progress."""

    def retain_one(self, topic: str, partition: int) -> None:
        """Apply retention to one partition."""

    def remove_due(self) -> None:
        """Remove from the disk the files that are due."""


class DiskSpaceReading(NamedTuple):
    """The state of a directory for display. `volume` is None where the file system could not report it."""

    path: str
    volume: Volume | None
    is_full: bool


class _Room:
    """The state of one directory's free space."""

    def __init__(self, directory: LogDirectory) -> None:
        self.directory = directory
        self.disk = directory.root.disk
        self.refusal: str | None = None
        """The message of a call that found no space since the last check, or None. Set in any thread."""
        self.since_ms = 0.0  # all of these by the monotonic clock
        self.tried_ms = 0.0
        self.left_ms: float | None = None
        self.wait_ms = 0
        self.retained_ms = 0.0

    @property
    def is_full(self) -> bool:
        """Whether the directory is full."""
        return self.disk.full_reason is not None


class DiskSpaceWatch:
    """The watch over the data directories of one broker. A `CatalogueListener`."""

    def __init__(
        self,
        directories: LogDirectories,
        open_logs: Callable[[], Iterable[PartitionLog]],
        housekeeping: FreesDiskSpace,
        reserved_bytes: int,
        clock: Clock,
        machine_clock: Clock,
        loop: AbstractEventLoop,
    ) -> None:
        """Watch `directories`. `open_logs`: those of all directories. `reserved_bytes`: the reserve on a large disk."""
        self._directories = directories
        self._open_logs = open_logs
        self._housekeeping = housekeeping
        self._reserved_bytes = reserved_bytes
        self._clock = clock
        self._machine_clock = machine_clock
        self._loop = loop
        self._rooms = {each: _Room(each) for each in directories.every}
        self._timer: Timer | None = None
        self._is_stopped = False

    def start(self) -> None:
        """Check now, and periodically from now on."""
        for room in self._rooms.values():
            room.disk.when_no_room = partial(self._refused, room)
        self._look()

    def stop(self) -> None:
        """Stop checking. A full directory stays full."""
        self._is_stopped = True
        for room in self._rooms.values():
            room.disk.when_no_room = None
        if self._timer is not None:
            self._timer.cancel()

    # --- called by other modules ------------------------------------------------------------------------------------

    def check_may_grow(self) -> None:
        """Raise KafkaError KAFKA_STORAGE_ERROR if there is no space for new topics or partitions."""
        members = self._directories.members
        reason = self._directories.root.disk.full_reason
        if reason is None and all(each.root.disk.full_reason is not None for each in members):
            reason = members[0].root.disk.full_reason
        if reason is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)

    def volume_for_producers(self, directory: LogDirectory) -> Volume:
        """Return the space of a directory as it is reported to clients. Raises StorageError."""
        volume = directory.volume()
        reserve = free_space.reserve_of(volume, self._reserved_bytes)
        return free_space.for_producers(volume, reserve, is_full=directory.root.disk.full_reason is not None)

    def readings(self) -> Iterator[DiskSpaceReading]:
        """Return the current state of every directory."""
        return (
            DiskSpaceReading(each.directory.path, _volume(each.directory), each.is_full)
            for each in self._rooms.values()
        )

    @property
    def full_reasons(self) -> list[str]:
        """The reasons why producers wait, one for each directory that is full."""
        return [room.disk.full_reason for room in self._rooms.values() if room.disk.full_reason is not None]

    def records_deleted(self, topic: str, partition: int) -> None:
        """Apply retention at once, if space is needed, after a client has moved the log start offset of a partition."""
        if self.full_reasons:
            self._housekeeping.retain_one(topic, partition)
            self._look_soon()

    # --- checking ----------------------------------------------------------------------------------------------------

    def _refused(self, room: _Room, failure: DirectoryFull) -> None:
        """Note that a call found no space. Called in any thread."""
        if room.refusal is None:
            room.refusal = str(failure)
            self._loop.call_soon_threadsafe(self._look_if_refused, room)

    def _look_if_refused(self, room: _Room) -> None:
        if not room.is_full and not self._is_stopped:
            self._look()

    def _look_soon(self) -> None:
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        if self._is_stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
        after_ms = min(self._look_at(room) for room in self._rooms.values())
        self._timer = self._machine_clock.call_later(after_ms, self._look)

    def _look_at(self, room: _Room) -> int:
        """Check one directory and return the delay until its next check, in milliseconds."""
        if room.directory.offline_reason is not None:
            return free_space.LOOK_MS
        refusal, room.refusal = room.refusal, None
        volume = _volume(room.directory)
        if volume is None:
            return free_space.LOOK_MS
        reserve = free_space.reserve_of(volume, self._reserved_bytes)
        if room.is_full:
            self._make_room(room)
            if refusal is None and free_space.is_enough(volume, reserve) and self._takes_a_file(room):
                self._leave(room)
        elif refusal is not None or free_space.is_used_up(volume, reserve):
            self._enter(room, refusal or f"{volume.usable_bytes} bytes are free, and {reserve} are reserved")
        return free_space.LOOK_WHILE_FULL_MS if room.is_full else free_space.look_after_ms(volume, reserve)

    def _now_ms(self) -> float:
        return self._machine_clock.monotonic() * 1000

    def _enter(self, room: _Room, reason: str) -> None:
        room.since_ms = room.tried_ms = now_ms = self._now_ms()
        room.wait_ms = free_space.wait_ms(None if room.left_ms is None else now_ms - room.left_ms, room.wait_ms)
        room.disk.full_reason = f"the data directory {room.directory.path} is full: producers cannot write to it"
        self._report(room)
        _log.error(line("data directory is full, producers wait", path=room.directory.path, reason=reason))
        room.retained_ms = now_ms - RETENTION_MS
        self._make_room(room)

    def _leave(self, room: _Room) -> None:
        room.left_ms = now_ms = self._now_ms()
        room.disk.full_reason = None
        self._report(room)
        full_s = round((now_ms - room.since_ms) / 1000)
        _log.warning(line("data directory has room again", path=room.directory.path, full_s=full_s))

    def _report(self, room: _Room) -> None:
        for log in self._open_logs():
            if log.directory.disk is room.disk:
                log.room_changed()

    def _make_room(self, room: _Room) -> None:
        now_ms = self._now_ms()
        if now_ms - room.retained_ms >= RETENTION_MS:
            room.retained_ms = now_ms
            self._housekeeping.retain_now()
        if room.directory.deletions.hurry(self._clock.now_ms()):
            self._housekeeping.remove_due()

    def _takes_a_file(self, room: _Room) -> bool:
        """Return whether a small file can be written: the only way to detect a quota, or a lack of inodes."""
        if self._now_ms() - room.tried_ms < room.wait_ms:
            return False
        root = room.directory.root
        try:
            root.write(TRIAL_NAME, bytes(_TRIAL_BYTES), 0)
            return True
        except StorageError:
            room.tried_ms, room.wait_ms = self._now_ms(), free_space.wait_ms(0, room.wait_ms)
            return False
        finally:
            with suppress(StorageError):  # it was not created; else the next trial replaces it
                root.remove(TRIAL_NAME)

    # --- called by the catalogue -----------------------------------------------------------------------------------

    def on_topic_created(self, topic: TopicImage) -> None:
        """Do nothing: a new topic uses no space yet."""

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Check soon, if space is needed: the topic's files can be removed."""
        if self.full_reasons:
            self._look_soon()

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing: new partitions use no space yet."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Run retention, if space is needed: the new settings may keep less."""
        if self.full_reasons:
            self._housekeeping.retain_now()


def check_disk_space(log: PartitionLog) -> None:
    """Raise KafkaError KAFKA_STORAGE_ERROR, which clients retry, if there is no space for a client's batch."""
    reason = log.directory.disk.full_reason
    if reason is not None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)


def _volume(directory: LogDirectory) -> Volume | None:
    """Return the size and free space that the file system reports; None if it fails to."""
    try:
        return directory.volume()
    except StorageError:
        return None

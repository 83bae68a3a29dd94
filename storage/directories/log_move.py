"""A move of a partition's log into another data directory: copied while it is used, and swapped in when complete.

Knows files by their names and sizes, not their content. As in Apache Kafka the copy lies in a directory of the target
that ends in `-future`, and the catalogue is updated with the new place before the copy takes it.

Theory of operation: a `.log` file only grows, so the copied bytes stay valid, and each round copies the bytes
added since the previous one. The other files of a segment, and producer snapshots, do not change once a later segment
has begun: files that a round has copied are `settled`, and no later round checks them. When little is left the owner
closes the log, and the last round makes the copy whole and durable: it copies the changes since the previous round, and
the files that belong to no segment. Then the catalogue is updated, the old directory becomes `-delete`, and the copy
gets the partition's name. A start that finds a `-future` decides by two facts: with a live directory anywhere the copy
is not needed; without one, and if the catalogue places the partition there, the swap was interrupted, and is finished.

Invariants: at most one directory has the partition's name, at any moment; none has it only between the two renames,
both of which come after the copy is durable and the catalogue is updated; no bytes beyond the size that the log
reported are copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from barnabas.protocol.files import names
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.full_io import close_quietly, read_fully, sync_directory, sync_file, write_fully
from barnabas.storage.errors import FileRemoved, StorageError, SyncFailed, from_os_error

_LOG = names.FileKind.LOG.value
_CHUNK_BYTES = 1 << 20
ROUND_BYTES = 64 << 20
"""The most that one round copies, so that it can be cancelled."""


class Left(NamedTuple):
    """The data that is not copied yet."""

    size: int
    """In bytes."""
    segments: int
    """The number of segments."""


class CopyRound:
    """One round of copying. Created and ended on the owner's thread, run in any thread."""

    def __init__(
        self,
        source: Directory,
        future: Directory,
        sizes: Mapping[str, int] | None,
        copied_before: Mapping[str, int],
        settled_before: int,
    ) -> None:
        """Take `sizes`: how far the `.log` files may be read; None if the log is closed, and everything is copied."""
        self._source = source
        self._future = future
        self._sizes = sizes
        self._copied_before = copied_before
        self._settled_before = settled_before
        self.settled = max(map(_base_offset, sizes)) if sizes else settled_before
        """Files named by a lower offset are copied now, and do not change any more."""
        self.copied: dict[str, int] = {}
        """The files that this round copied, and how far they are copied now, in bytes."""
        self.size = 0
        """In bytes."""

    def run(self) -> None:
        """Copy and sync, and remove files that are gone. StorageError. A file deleted meanwhile is skipped."""
        existing = self._source.names()
        for name in filter(self._may_have_changed, existing):
            if self._sizes is not None and self.size >= ROUND_BYTES:
                self._is_unsettled(name)
                break
            with suppress(FileRemoved):  # by retention or compaction: the copy needs it no longer
                self._bring(name)
        for name in set(self._future.names()).difference(existing):
            self._future.remove(name)
        self._future.disk.check_online()
        sync_directory(self._future.disk.files, self._future.path)

    def _may_have_changed(self, name: str) -> bool:
        """Return whether to check a file: not if it is settled, being deleted, set aside or temporary."""
        found = names.parse_segment_file(name)
        if found is None:
            return self._sizes is None and not name.endswith(names.TEMPORARY_SUFFIX)
        is_settled = found.base_offset < self._settled_before and name in self._copied_before
        return found.state is names.FileState.LIVE and not is_settled

    def _is_unsettled(self, name: str) -> None:
        self.settled = min(self.settled, _base_offset(name))

    def _bring(self, name: str) -> None:
        """Copy the new bytes of a `.log` file, as many as the round may copy; the whole of any other file."""
        start = 0
        if not name.endswith(_LOG):
            end = self._source.size(name)
        else:
            start = self._copied_before.get(name, 0)
            end = whole = self._source.size(name) if self._sizes is None else self._sizes.get(name, start)
            if self._sizes is not None:
                end = min(whole, start + ROUND_BYTES - self.size)
            if end < whole:
                self._is_unsettled(name)
            if end == start and (self._sizes is not None or name in self._copied_before):
                return
        self._copy(name, start, end)
        self.copied[name] = end
        self.size += end - start

    def _copy(self, name: str, start: int, end: int) -> None:
        self._source.disk.check_online()
        self._future.disk.check_online()
        path = self._source.path_of(name)
        try:
            source = self._source.disk.files.open(path, read_only=True)
        except OSError as error:
            raise from_os_error(path, "open", error) from error
        try:
            target_path = self._future.path_of(name)
            try:
                target = self._future.disk.files.open(target_path, create=True)
            except OSError as error:
                raise StorageError(
                    target_path, f"cannot create: {error.strerror or error}", error.errno or 0
                ) from error
            try:
                for position in range(start, end, _CHUNK_BYTES):
                    data = read_fully(source, min(_CHUNK_BYTES, end - position), position)
                    write_fully(target, data, position)
                target.truncate(end)
                sync_file(target, target_path)
            finally:
                close_quietly(target)
        except SyncFailed:
            raise
        except OSError as error:
            raise _failed(path, "copy", error) from error
        finally:
            close_quietly(source)


class Move:
    """The move of one partition into another data directory. Everything but a round is done on the owner's thread."""

    def __init__(self, key: TopicPartition, source: LogDirectory, target: LogDirectory, unique: bytes) -> None:
        """Create the directory of the copy. `unique` is 16 random bytes. StorageError if it cannot be created."""
        self.key = key
        self.source = source
        self.target = target
        self._from = source.directory_of(key)
        name = names.PartitionDirectory(*key, names.DirectoryState.FUTURE, unique.hex()).name
        self.future = target.root.subdirectory(name)
        self.future.create()
        self._copied: dict[str, int] = {}
        self._settled = 0

    @property
    def size(self) -> int:
        """Bytes of segments copied so far."""
        return sum(end for name, end in self._copied.items() if name.endswith(_LOG))

    @property
    def copied_offset(self) -> int:
        """The offset below which everything is copied: the base offset of the last segment with copied bytes."""
        return max((_base_offset(name) for name in self._copied if name.endswith(_LOG)), default=0)

    def left(self, sizes: Mapping[str, int]) -> Left:
        """Return what is not copied yet of segments with these sizes, by the names of their `.log` files."""
        copied = self._copied
        missing = [size - copied.get(name, 0) for name, size in sizes.items() if copied.get(name) != size]
        return Left(sum(missing), len(missing))

    def round(self, sizes: Mapping[str, int] | None = None) -> CopyRound:
        """Return the next round. `sizes` as in `CopyRound`."""
        return CopyRound(self._from, self.future, sizes, self._copied, self._settled)

    def end_round(self, done: CopyRound) -> None:
        """Take over the result of a round that ran without an error."""
        self._copied.update(done.copied)
        self._settled = done.settled

    def complete(self) -> None:
        """Make the copy of a closed log whole and durable, and prepare the target for it. StorageError."""
        last = self.round()
        try:
            last.run()
        except SyncFailed as failure:
            self.target.root.disk.go_offline(str(failure))
            raise
        self.end_round(last)
        self.future.sync()
        self.target.expect(self.key, self.source)
        self.target.root.sync()

    def swap(self, unique: bytes, due_ms: int) -> None:
        """Move the copy to the partition's place; the old files are removed at `due_ms`. `unique` is 16 random bytes.

        StorageError: if the old directory is still in its place, nothing happened. If it is not, the target is offline,
        and the next start finishes the swap.
        """
        self.source.delete_log(*self.key, unique, due_ms)
        try:
            self.source.root.sync()
            self.target.take_in(self.key, self.future)
        except StorageError as error:
            self.target.root.disk.go_offline(f"a partition could not be added: {error}")
            raise

    def give_up(self) -> None:
        """Remove the copy, as far as possible. No round is running."""
        self.target.drop(self.key, self.future)


def _base_offset(name: str) -> int:
    found = names.parse_segment_file(name)
    return -1 if found is None else found.base_offset


def _failed(path: str, action: str, error: OSError) -> StorageError:
    """Return a StorageError, never FileRemoved, which a round skips."""
    return StorageError(path, f"cannot {action}: {error.strerror or error}", error.errno or 0)

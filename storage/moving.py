"""A partition's log on its way into another data directory: copied beside its use, and swapped in when it is whole.

Knows files by their names and sizes; what is in them is the log's. As in Apache Kafka the copy lies in a directory of
the target that ends in `-future`, and the catalogue is told of the new place before the copy takes it.

Theory of operation: a `.log` file only grows, so what was copied of it stays right, and each round copies what was
added since the one before. Other files are copied again if they changed. When little is left the owner closes the
log, and the last round makes the copy whole and durable; then the catalogue is told, the old directory becomes
`-delete`, and the copy gets the partition's name. A start that finds a `-future` decides by two facts: with a live
directory anywhere the copy is of no use; without one, and if the catalogue says that the partition lies there, the
swap was cut in two, and is finished.

Invariants: at most one directory has the partition's name, at any moment; none has it only between the two renames,
both of which come after the copy is durable and the catalogue says so; nothing above the size that the log gave is
copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.protocol.files import names
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.full_io import close_quietly, read_fully, sync_directory, sync_file, write_fully
from barnabas.storage.errors import FileRemoved, StorageError, SyncFailed, from_os_error
from barnabas.storage.log_directory import LogDirectory

_LOG = names.FileKind.LOG.value
_INDEXES = tuple(
    kind.value for kind in (names.FileKind.OFFSET_INDEX, names.FileKind.TIME_INDEX, names.FileKind.TXN_INDEX)
)
"""They may be large, and are written once: when the segment is sealed."""
_CHUNK_BYTES = 1 << 20
ROUND_BYTES = 64 << 20
"""No round copies more, so that it can be given up."""


class _Piece(NamedTuple):
    """A part of a file: from here to there, and when the file had changed last, in ms."""

    name: str
    start: int
    end: int
    modified_ms: int


class Round:
    """What one round copies. Made and ended on the owner's thread, run in any."""

    def __init__(self, source: Directory, future: Directory, pieces: list[_Piece]) -> None:
        self._source = source
        self._future = future
        self.pieces = pieces
        self.copied: list[_Piece] = []

    @property
    def size(self) -> int:
        """Bytes to copy."""
        return sum(piece.end - piece.start for piece in self.pieces)

    def run(self) -> None:
        """Copy and sync. StorageError. A file that was deleted meanwhile is passed over."""
        for piece in self.pieces:
            try:
                self._copy(piece)
            except FileRemoved:
                continue
            self.copied.append(piece)
        self._future.disk.check_online()
        sync_directory(self._future.disk.files, self._future.path)

    def _copy(self, piece: _Piece) -> None:
        self._source.disk.check_online()
        self._future.disk.check_online()
        path = self._source.path_of(piece.name)
        try:
            source = self._source.disk.files.open(path, read_only=True)
        except OSError as error:
            raise from_os_error(path, "open", error) from error
        try:
            target_path = self._future.path_of(piece.name)
            try:
                target = self._future.disk.files.open(target_path, create=True)
            except OSError as error:
                raise StorageError(
                    target_path, f"cannot create: {error.strerror or error}", error.errno or 0
                ) from error
            try:
                for position in range(piece.start, piece.end, _CHUNK_BYTES):
                    data = read_fully(source, min(_CHUNK_BYTES, piece.end - position), position)
                    write_fully(target, data, position)
                target.truncate(piece.end)
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
    """One partition's way into another data directory. Everything but a round is done on the owner's thread."""

    def __init__(self, key: TopicPartition, source: LogDirectory, target: LogDirectory, unique: bytes) -> None:
        """`unique` is 16 random bytes. StorageError if the copy's directory cannot be made."""
        self.key = key
        self.source = source
        self.target = target
        self._from = source.directory_of(key)
        name = names.PartitionDirectory(*key, names.DirectoryState.FUTURE, unique.hex()).name
        self.future = target.root.subdirectory(name)
        self.future.create()
        self._copied: dict[str, _Piece] = {}

    @property
    def size(self) -> int:
        """Bytes of segments copied so far."""
        return sum(piece.end for name, piece in self._copied.items() if name.endswith(_LOG))

    @property
    def copied_offset(self) -> int:
        """Below it everything is copied: the base offset of the segment that is being copied, or is the last."""
        return max((int(name.removesuffix(_LOG)) for name in self._copied if name.endswith(_LOG)), default=0)

    def round(self, sizes: Mapping[str, int] | None = None) -> Round:
        """What is not copied yet, of one round's size. StorageError.

        sizes: how far the `.log` files may be read; without it the log is closed, and everything is to be copied.
        """
        pieces = []
        left = ROUND_BYTES
        for name in self._from.names():
            if not _is_part_of_log(name) or (sizes is not None and left <= 0):
                continue
            try:
                size, modified_ms = self._from.size(name), self._from.modified_ms(name)
            except FileRemoved:
                continue
            before = self._copied.get(name)
            if name.endswith(_LOG):
                start = before.end if before is not None else 0
                end = size if sizes is None else min(sizes.get(name, 0), start + left)
                is_new = end > start or before is None
            else:
                start, end = 0, size
                is_new = before is None or (before.end, before.modified_ms) != (size, modified_ms)
                is_new = is_new or (sizes is None and not name.endswith(_INDEXES))
            if is_new:
                pieces.append(_Piece(name, start, end, modified_ms))
                left -= end - start
        return Round(self._from, self.future, pieces)

    def end_round(self, done: Round) -> None:
        """After it has run, whatever became of it."""
        for piece in done.copied:
            self._copied[piece.name] = piece

    def complete(self) -> None:
        """The log is closed: make the copy whole and durable, and the target ready for it. StorageError."""
        last = self.round()
        self._run_here(last)
        existing = set(self._from.names())
        for name in self.future.names():
            if name not in existing:
                self.future.remove(name)
        self.future.sync()
        self.target.expect(self.key, self.source)
        self.target.root.sync()

    def swap(self, unique: bytes, due_ms: int) -> None:
        """The copy takes the partition's place; what was there is removed at `due_ms`. `unique` is 16 random bytes.

        StorageError: if the old directory is still in its place, nothing happened. If it is not, the target is offline,
        and the next start finishes the swap.
        """
        self.source.delete_log(*self.key, unique, due_ms)
        try:
            self.source.root.sync()
            self.target.take_in(self.key, self.future)
        except StorageError as error:
            self.target.root.disk.go_offline(f"a partition could not be taken in: {error}")
            raise

    def give_up(self) -> None:
        """Remove the copy, as far as that can be done. No round is running."""
        self.target.drop(self.future)

    def _run_here(self, last: Round) -> None:
        try:
            last.run()
        except SyncFailed as failure:
            self.target.root.disk.go_offline(str(failure))
            raise
        self.end_round(last)


def _is_part_of_log(name: str) -> bool:
    """Not what is being deleted, or was set aside, or is half written."""
    found = names.parse_segment_file(name)
    if found is not None:
        return found.state is names.FileState.LIVE
    return not name.endswith(names.TEMPORARY_SUFFIX)


def _failed(path: str, action: str, error: OSError) -> StorageError:
    """Never FileRemoved, which a round passes over."""
    return StorageError(path, f"cannot {action}: {error.strerror or error}", error.errno or 0)

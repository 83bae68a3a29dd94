"""The sizes of a partition's sealed segments, and the checksums of their `.txnindex`: a file of Barnabas,
`segment-checksums`, that Apache Kafka ignores.

Nothing else shows that a log lost batches at its end, or that a `.txnindex`, whose format has no checksum, changed or
is gone: that would hide committed records or show aborted ones. A row applies to a log of one size. If the log has
another size, a broker appended to it or cleaned it, and nothing is known of its index. If a checksum is not that of
the index, the index is rebuilt from the log: so the files need not be written at the same time.

Knows base offsets, sizes and checksums. The file is written with the flush that syncs the indexes, if there is more
than one segment or an aborted transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_offsets, encode_offsets
from barnabas.protocol.files.names import SEGMENT_CHECKSUMS
from barnabas.protocol.records.crc32c import crc32c
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.small_file import Replacement, SmallFile
from barnabas.storage.errors import CorruptFile
from barnabas.storage.segment.segment import Segment


class SegmentChecksums:
    """The rows of one partition and their file."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._file = SmallFile(directory, SEGMENT_CHECKSUMS)
        self._rows: dict[int, tuple[int, int]] = {}  # log size and checksum, by base offset
        data = directory.read(SEGMENT_CHECKSUMS)
        try:
            rows = decode_offsets(data) if data is not None else {}
            self._rows = {int(base): (size, checksum) for (base, size), checksum in rows.items()}
        except (DecodeError, ValueError):
            self._file.changed()  # nothing is known, and the next flush rewrites it

    def check_size(self, segment: Segment, *, may_be_shorter: bool) -> None:
        """Raise CorruptFile if the log is shorter than before; a cleaned log may be."""
        size, _ = self._rows.get(segment.base_offset, (-1, 0))
        if segment.size < size and may_be_shorter:
            self.forget(segment)
        elif segment.size < size:
            raise CorruptFile(
                segment.log.path,
                f"the file ends at position {segment.size}, but {SEGMENT_CHECKSUMS} has {size} for it: "
                f"{size - segment.size} bytes after offset {segment.base_offset} are lost (case Y)",
            )

    def is_right(self, segment: Segment, *, has_txn_index: bool) -> bool:
        """Return whether the segment's transaction index is unchanged since it was written, as far as known."""
        size, checksum = self._rows.get(segment.base_offset, (-1, 0))
        if size != segment.size:
            return True
        data = self._directory.read(segment.txn_index.name) if has_txn_index else None
        return crc32c(data or b"") == checksum

    @property
    def base_offsets(self) -> list[int]:
        """The base offsets of segments that were sealed when the file was written, in no order; some may be gone."""
        return list(self._rows)

    def __contains__(self, base_offset: int) -> bool:
        """Return whether there is a row. False for a segment with indexes synced while it was the last (roll.py)."""
        return base_offset in self._rows

    def forget(self, segment: Segment) -> None:
        """Remove the row of a segment whose index is rebuilt."""
        if self._rows.pop(segment.base_offset, None) is not None:
            self._file.changed()

    def update(self, segments: Sequence[Segment], written: Iterable[Segment]) -> None:
        """Add the rows of `written`: sealed, with indexes in the files; `segments` are all existing segments."""
        rows = dict(self._rows)
        for segment in written:
            has_aborted = len(segment.txn_index) > 0
            if has_aborted or segment is not segments[-1]:
                data = self._directory.read(segment.txn_index.name) if has_aborted else None
                rows[segment.base_offset] = segment.size, crc32c(data or b"")
            else:
                rows.pop(segment.base_offset, None)
        live = {segment.base_offset for segment in segments} if rows else ()
        rows = {base: row for base, row in rows.items() if base in live}
        if rows != self._rows:
            self._rows = rows
            self._file.changed()

    @property
    def is_dirty(self) -> bool:
        """Whether the file lacks a change of the rows."""
        return self._file.is_dirty

    def replacement(self) -> Replacement:
        """Return the current content of the file, for a SyncJob to write."""
        rows = {(str(base), size): checksum for base, (size, checksum) in self._rows.items()}
        return self._file.replacement(encode_offsets(rows))

    def give_up(self) -> None:
        """Stop writing, also writes in progress."""
        self._file.give_up()

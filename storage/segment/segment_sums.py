"""What the sealed segments of a partition were: how long, and the checksums of their `.txnindex`. A file of ours,
`segment-checksums`, that Apache Kafka overlooks.

Nothing else tells that a log lost batches at its end, or that a `.txnindex`, whose format has no checksum, says
something else or is gone: that would hide committed records or show aborted ones. A row speaks of a log of one size. If
it has another one, a broker went on with it or cleaned it, and nothing is known of its index. Where a checksum is not
that of the index, the index is made from the log again: so the files need not be written at the same time.

Knows base offsets, sizes and checksums. The file is written with the flush that syncs the indexes, where there is more
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


class SegmentSums:
    """The rows and their file in one partition's directory."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._file = SmallFile(directory, SEGMENT_CHECKSUMS)
        self._rows: dict[int, tuple[int, int]] = {}  # log size and checksum, by base offset
        data = directory.read(SEGMENT_CHECKSUMS)
        try:
            rows = decode_offsets(data) if data is not None else {}
            self._rows = {int(base): (size, checksum) for (base, size), checksum in rows.items()}
        except (DecodeError, ValueError):
            self._file.changed()  # nothing is known, and the next flush writes it anew

    def check_size(self, segment: Segment, *, may_be_shorter: bool) -> None:
        """CorruptFile if the log is shorter than it was; a log that was cleaned may be."""
        size, _ = self._rows.get(segment.base_offset, (-1, 0))
        if segment.size < size and may_be_shorter:
            self.forget(segment)
        elif segment.size < size:
            raise CorruptFile(
                segment.log.path,
                f"the file ends at position {segment.size}, and {SEGMENT_CHECKSUMS} has {size} for it: "
                f"{size - segment.size} bytes behind offset {segment.base_offset} are gone (case Y)",
            )

    def is_right(self, segment: Segment, *, has_txn_index: bool) -> bool:
        """Whether the segment's transaction index is as it was written, as far as that is known."""
        size, checksum = self._rows.get(segment.base_offset, (-1, 0))
        if size != segment.size:
            return True
        data = self._directory.read(segment.txn_index.name) if has_txn_index else None
        return crc32c(data or b"") == checksum

    @property
    def base_offsets(self) -> list[int]:
        """Of the segments that were sealed when the file was written, in no order; some may not be there any more."""
        return list(self._rows)

    def __contains__(self, base_offset: int) -> bool:
        """Whether there is a row. Not for a segment whose indexes were synced while it was the last (roll.py)."""
        return base_offset in self._rows

    def forget(self, segment: Segment) -> None:
        """Its index is made again."""
        if self._rows.pop(segment.base_offset, None) is not None:
            self._file.changed()

    def update(self, segments: Sequence[Segment], written: Iterable[Segment]) -> None:
        """`written` are sealed, with their indexes in the files; `segments` are all there are."""
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
        """Whether the file does not have what is here."""
        return self._file.is_dirty

    def replacement(self) -> Replacement:
        """The file as it should be now, for a SyncJob to write."""
        rows = {(str(base), size): checksum for base, (size, checksum) in self._rows.items()}
        return self._file.replacement(encode_offsets(rows))

    def give_up(self) -> None:
        """Write nothing any more, whatever is under way."""
        self._file.give_up()

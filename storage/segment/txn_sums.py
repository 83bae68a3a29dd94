"""Checksums of a partition's `.txnindex` files, in a file of ours, `txnindex-checksums`. Apache Kafka overlooks it.

The format of a `.txnindex` has none: a flipped bit would hide committed records or show aborted ones, and so would a
file that is gone, since most segments have none. A row is for a segment whose log has a certain size: if it has another
one, a broker went on with it or cleaned it, and nothing is known. Where a checksum is not that of the file, the index is
made from the log again, so nothing depends on the two files being written at the same time.

Knows base offsets, sizes and checksums. The file is written with the flush that syncs the index, if there is a row.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_offsets, encode_offsets
from barnabas.protocol.files.names import TXN_INDEX_CHECKSUMS
from barnabas.protocol.records.crc32c import crc32c
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.small_file import Replacement, SmallFile
from barnabas.storage.segment.segment import Segment


class TransactionIndexSums:
    """The rows and their file in one partition's directory."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._file = SmallFile(directory, TXN_INDEX_CHECKSUMS)
        self._rows: dict[int, tuple[int, int]] = {}  # log size and checksum, by base offset
        data = directory.read(TXN_INDEX_CHECKSUMS)
        try:
            rows = decode_offsets(data) if data is not None else {}
            self._rows = {int(base): (size, checksum) for (base, size), checksum in rows.items()}
        except (DecodeError, ValueError):
            self._file.changed()  # nothing is known, and the next flush writes it anew

    def is_right(self, segment: Segment) -> bool:
        """Whether the segment's index is as it was written, as far as that is known."""
        size, checksum = self._rows.get(segment.base_offset, (-1, 0))
        return size != segment.size or crc32c(self._directory.read(segment.txn_index.name) or b"") == checksum

    def forget(self, segment: Segment) -> None:
        """Its index is made again."""
        if self._rows.pop(segment.base_offset, None) is not None:
            self._file.changed()

    def update(self, segments: Iterable[Segment], written: Iterable[Segment]) -> None:
        """`written` are sealed, with their indexes in the files; `segments` are all there are."""
        rows = dict(self._rows)
        for segment in written:
            data = self._directory.read(segment.txn_index.name) if len(segment.txn_index) else None
            if data is not None:
                rows[segment.base_offset] = segment.size, crc32c(data)
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

"""The aborted transactions that overlap a segment, read from its `.txnindex` file and those of later segments.

A transaction is listed in the file of the segment that has its marker, which may be many segments after its data; those
whose markers lie after all cleaned segments are passed with the job. One file at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.protocol.files.names import FileKind, segment_file
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.storage.disk.directory import Directory
from barnabas.storage.segment.txn_index import TransactionIndex


class AbortedTransactions:
    """Queried segment by segment, from the first on. `later` are in no file of these segments."""

    def __init__(self, directory: Directory, base_offsets: Sequence[int], later: Sequence[AbortedTxn]) -> None:
        names = set(directory.names())
        self._directory = directory
        self._later = later
        self._files = [
            (base_offset, name)
            for base_offset in base_offsets
            if (name := segment_file(base_offset, FileKind.TXN_INDEX)) in names
        ]
        self._begins: dict[int, int] = {}  # the first offset of a file's earliest transaction, once it was read

    def touching(self, base_offset: int, end_offset: int) -> list[AbortedTxn]:
        """Return the transactions with offsets in [base_offset, end_offset). CorruptFile if a file is damaged."""
        found = [entry for entry in self._later if entry.first_offset < end_offset]
        for file_offset, name in self._files:
            if file_offset < base_offset or self._begins.get(file_offset, 0) >= end_offset:
                continue
            entries = TransactionIndex(self._directory, name, file_offset).entries
            self._begins[file_offset] = min((entry.first_offset for entry in entries), default=end_offset)
            found += (entry for entry in entries if entry.first_offset < end_offset)
        return found

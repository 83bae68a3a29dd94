"""Decodes a segment's index files, without the zeros that a killed Apache Kafka leaves at their end.

DecodeError if a file does not follow its format. Whether an entry is right is checked in index_checks.py.
"""

from __future__ import annotations

from barnabas.protocol.files import offset_index, time_index, txn_index
from barnabas.protocol.files.offset_index import OffsetIndexEntry
from barnabas.protocol.files.preallocation import trimmed_size
from barnabas.protocol.files.time_index import TimeIndexEntry
from barnabas.protocol.files.txn_index import AbortedTxn


def offset_entries(data: bytes) -> list[OffsetIndexEntry]:
    """Return the entries of an `.index` file."""
    return offset_index.decode(data[: trimmed_size(data, offset_index.ENTRY_SIZE)])


def time_entries(data: bytes) -> list[TimeIndexEntry]:
    """Return the entries of a `.timeindex` file."""
    return time_index.decode(data[: trimmed_size(data, time_index.ENTRY_SIZE)])


def aborted_txns(data: bytes) -> list[AbortedTxn]:
    """Return the entries of a `.txnindex` file; zeros alone, left by a power cut for unsynced entries, are none.

    An entry of zeros would be an abort without data, whose marker is the first record of the log. This does not exist.
    """
    if not data.strip(b"\0"):
        return []
    return txn_index.decode(data[: trimmed_size(data, txn_index.ENTRY_SIZE)])

"""The results of one round of cleaning: values that can be sent from a helper process."""

from __future__ import annotations

from typing import NamedTuple


class CleanedGroup(NamedTuple):
    """Segments, by their base offsets, and the size of the log file that replaces them: `<first base>.log.cleaned`.

    The index files are beside it; a `.txnindex.cleaned` only if `has_txn_index`.
    """

    source_base_offsets: tuple[int, ...]
    log_bytes: int
    has_txn_index: bool

    @property
    def base_offset(self) -> int:
        """The base offset of the new segment."""
        return self.source_base_offsets[0]


class CleanStats(NamedTuple):
    """The figures that Kafka logs of a round, in bytes and records ("messages"). `invalid_messages` had no key."""

    map_bytes_read: int = 0
    map_messages_read: int = 0
    map_fullness: float = 0.0  # 0 to the load factor
    bytes_read: int = 0
    messages_read: int = 0
    invalid_messages: int = 0
    bytes_written: int = 0
    messages_written: int = 0


class CleanResult(NamedTuple):
    """The groups in order, and where the next round begins: the first offset whose key was not read."""

    groups: tuple[CleanedGroup, ...]
    end_offset: int
    stats: CleanStats


class CleanTally:
    """A mutable CleanStats, used while counting."""

    def __init__(self) -> None:
        self.map_bytes_read = 0
        self.map_messages_read = 0
        self.map_fullness = 0.0
        self.bytes_read = 0
        self.messages_read = 0
        self.invalid_messages = 0
        self.bytes_written = 0
        self.messages_written = 0

    def stats(self) -> CleanStats:
        """Return the figures so far."""
        return CleanStats(
            self.map_bytes_read,
            self.map_messages_read,
            self.map_fullness,
            self.bytes_read,
            self.messages_read,
            self.invalid_messages,
            self.bytes_written,
            self.messages_written,
        )

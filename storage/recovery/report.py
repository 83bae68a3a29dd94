"""The report of opening a partition: cases found, actions and costs."""

from __future__ import annotations

from typing import NamedTuple


class Recovered(NamedTuple):
    """The result, for the log. The letters are those of storage/recovery/recovery_decisions.py."""

    log_end_offset: int
    letters: str = ""  # the cases found, in alphabetical order
    segments_reread: int = 0
    bytes_dropped: int = 0
    segments_dropped: int = 0
    headers_replayed: int = 0  # to rebuild producer state from an older snapshot
    notes: tuple[str, ...] = ()  # sentences for the operator: what was dropped and why


class RecoveryReport:
    """A Recovered while it is being collected."""

    def __init__(self) -> None:
        self.segments_reread = 0
        self._letters: set[str] = set()
        self._notes: list[str] = []
        self._bytes_dropped = 0
        self._segments_dropped = 0

    def add(self, letters: str) -> None:
        """Add cases that were found."""
        self._letters.update(letters)

    def note(self, sentence: str) -> None:
        """Add a sentence for the operator."""
        self._notes.append(sentence)

    def dropped(self, size: int, *, segments: int = 0) -> None:
        """Count bytes that were removed from the log, `segments` whole segments among them."""
        self._bytes_dropped += size
        self._segments_dropped += segments

    def recovered(self, log_end_offset: int, headers_replayed: int) -> Recovered:
        """Return the result."""
        return Recovered(
            log_end_offset=log_end_offset,
            letters="".join(sorted(self._letters)),
            segments_reread=self.segments_reread,
            bytes_dropped=self._bytes_dropped,
            segments_dropped=self._segments_dropped,
            headers_replayed=headers_replayed,
            notes=tuple(self._notes),
        )

"""What is promised of topics that are compacted or of which retention deletes, and what was seen of a whole log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.history.history import Poll


@dataclass(frozen=True, slots=True)
class Promise:
    """Of one topic. Times in milliseconds, None where nothing is deleted for its age."""

    is_compacted: bool
    delete_retention_ms: int
    """How long a tombstone stays at least."""
    retention_ms: int | None


@dataclass(slots=True, eq=False)
class Scan:
    """What somebody saw of a partition from its start to its end, one Fetch after another."""

    client: str
    is_committed: bool
    """Whether it read with read_committed."""
    at: tuple[str, int]
    began_us: int
    ended_us: int
    log_start_offset: int
    """The last that was answered."""
    end_offset: int
    """Behind what it saw."""
    records: list[tuple[int, bytes]]

    def line(self) -> str:
        kind = "committed" if self.is_committed else "all"
        where = f"{self.at[0]}-{self.at[1]}"
        ends = f"{self.log_start_offset}..{self.end_offset}"
        return f"{self.client} scan {kind} {where} {ends}: {len(self.records)} records"


def scan_of(polls: list[Poll]) -> Scan:
    """Polls of one reader that began at the start of a partition."""
    first, last = polls[0], polls[-1]
    return Scan(
        client=first.client,
        is_committed=first.is_committed,
        at=first.at,
        began_us=first.began_us,
        ended_us=last.ended_us,
        log_start_offset=max(poll.log_start_offset for poll in polls),
        end_offset=last.next_offset,
        records=[record for poll in polls for record in poll.records],
    )

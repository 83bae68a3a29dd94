"""What the Spark sink was asked for and told: its batches, the attempts at their tasks, the calls of commit().

A row's value says whose it is, `query:batch:row@attempt`, so that it is known wherever it turns up.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class Row(NamedTuple):
    """A row of a batch, as one attempt wrote it."""

    query_id: str
    batch_id: int
    row: int
    attempt: str

    def value(self) -> bytes:
        return f"{self.query_id}:{self.batch_id}:{self.row}@{self.attempt}".encode()


def row_of(value: bytes) -> Row | None:
    """What row a record is; None for a record of somebody else."""
    whose, is_row, attempt = value.decode().partition("@")
    if not is_row:
        return None
    query_id, batch_id, row = whose.split(":")
    return Row(query_id, int(batch_id), int(row), attempt)


class BatchRows(NamedTuple):
    """What the checkpoint says of a batch: how many rows it has, and where its source ends."""

    query_id: str
    batch_id: int
    rows: int
    end_offset: int


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt at a task. `result`: its message, or why there was none."""

    client: str
    name: str
    batch: BatchRows
    partition: int
    began_us: int
    transaction: tuple[str, int, int] | None = None
    """Transactional id, producer id and epoch, as its message says; None without one."""
    result: str = "open"
    ended_us: int | None = None
    """When its message was there."""

    def line(self) -> str:
        where = f"{self.batch.query_id}:{self.batch.batch_id}, partition {self.partition}"
        return f"{self.client} attempt {self.name} at {where}: {self.result}"


@dataclass(slots=True, eq=False)
class CommitCall:
    """One call of commit() or abort(). `result`: done, or why it failed."""

    client: str
    what: str
    query_id: str
    batch_id: int
    began_us: int
    result: str = "open"
    ended_us: int | None = None

    def line(self) -> str:
        return f"{self.client} {self.what} {self.query_id}:{self.batch_id}: {self.result}"


@dataclass(slots=True)
class SinkHistory:
    """Of the one sink there is, if there is any: `prefix` is empty without."""

    prefix: str = ""
    batches: dict[tuple[str, int], BatchRows] = field(default_factory=dict)
    completed: set[tuple[str, int]] = field(default_factory=set)
    """Batches whose commit() returned, as the checkpoint keeps it."""
    attempts: list[Attempt] = field(default_factory=list)
    calls: list[CommitCall] = field(default_factory=list)
    timeout_ms: int | None = None
    """After how long a transaction may be aborted, though it was decided; None if that cannot be in this run."""
    lost: set[tuple[str, int]] = field(default_factory=set)
    """Decided batches of which the sink has reported that a part of them is missing."""
    queries: list[str] = field(default_factory=list)
    """In the order of their first starts: whoever is followed by another is not started again."""
    ledger: list[tuple[int, bytes]] = field(default_factory=list)
    """The ledger's committed records at the end, with their offsets."""
    ledger_ends: tuple[int, int] = (0, 0)
    """Its last stable offset and high watermark at the end."""
    offset: int = -1
    """Where the source's group is at the end."""
    left_open: list[str] = field(default_factory=list)
    """Transactional ids of the sink that have an open transaction at the end."""

    def may_be_lost(self, query_id: str, batch_id: int) -> bool:
        """Whether rows of a decided batch may be missing: that was reported, or its query was given up before."""
        was_given_up = query_id != self.queries[-1] and (query_id, batch_id) not in self.completed
        return (query_id, batch_id) in self.lost or (self.timeout_ms is not None and was_given_up)

    @property
    def ledger_topic(self) -> str:
        return f"__{self.prefix}.ledger"

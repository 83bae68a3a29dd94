"""What clients asked and what was answered: the one thing that checkers read, beside the files at the end.

Each entry is made when its request is sent, and filled in when the answer is there. What was never answered stays
`UNKNOWN`: it may have been done or not, now or later. What is refused for good is `FAILED`: it has not been done and
never will be. Clients write it, checkers (`checkers/`) read it; neither knows the other. `line` is how an entry is
printed, the same bytes for the same seed.

Every record that is written has a value of its own, so that it can be found again wherever it turns up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from operator import itemgetter
from typing import Protocol, TypeAlias

from tests.simulation.history.answers import Unanswered
from tests.simulation.history.groups import Commit, Owned
from tests.simulation.history.logs import Promise, Scan
from tests.simulation.history.nodes import Leaders
from tests.simulation.history.schemas import SchemaHistory
from tests.simulation.history.shares import ShareHistory
from tests.simulation.history.sink import SinkHistory
from tests.simulation.history.terms import Terms
from tests.simulation.history.topics import Change, ConfigView, RecordsDeleted, TopicLife, TopicView
from tests.simulation.secured.history import SecurityHistory


class Outcome(Enum):
    """What a client knows of what it asked for."""

    OPEN = "open"
    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


TopicPartition: TypeAlias = tuple[str, int]
NO_PRODUCER = (-1, -1)


@dataclass(slots=True, eq=False)
class Incarnation:
    """One life of a producer: from its InitProducerId to the next one's of the same transactional id.

    `transactional_id` is None for one that is idempotent only.
    """

    client: str
    transactional_id: str | None
    began_us: int
    ended_us: int | None = None
    """When the answer to InitProducerId was there; None if it never was."""
    producer_id: int = -1
    epoch: int = -1

    def line(self) -> str:
        return f"{self.client} init {self.transactional_id or '-'} {self.producer_id}/{self.epoch}"


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction of an incarnation."""

    incarnation: Incarnation
    number: int
    began_us: int
    sends: list[Send] = field(default_factory=list)
    reads: list[Poll] = field(default_factory=list)
    """What its client read of committed records between its beginning and its end."""
    offsets: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """By group, topic and partition: what is to be committed with it. Only what was answered."""
    is_commit: bool | None = None
    """What was asked for at last; None if its end was never asked for."""
    end_asked_us: int | None = None
    end_answered_us: int | None = None
    end_lost_us: int = 0
    """When asking for its end was last not answered."""
    outcome: Outcome = Outcome.OPEN
    """Of its end: OK is as was asked for, FAILED is aborted, by whomever."""

    @property
    def is_committed(self) -> bool:
        """Certainly."""
        return self.is_commit is True and self.outcome is Outcome.OK

    @property
    def is_aborted(self) -> bool:
        """Certainly."""
        return self.outcome is Outcome.FAILED or (self.is_commit is False and self.outcome is Outcome.OK)

    def line(self) -> str:
        asked = {True: "commit", False: "abort", None: "none"}[self.is_commit]
        return f"{self.incarnation.client} transaction {self.number} {asked} {self.outcome.value}"


@dataclass(slots=True, eq=False)
class Send:
    """One record, from the first time it was sent to its answer, over however many tries."""

    incarnation: Incarnation
    transaction: Transaction | None
    at: TopicPartition
    value: bytes
    sequence: int
    began_us: int
    tries: int = 1
    outcome: Outcome = Outcome.OPEN
    offset: int | None = None
    """Where it is, if the answer said it."""
    ended_us: int | None = None
    error: str = ""
    producer: tuple[int, int] = NO_PRODUCER
    """The producer id and epoch that it was sent with at last."""
    key: bytes | None = None
    """What it is kept by in a compacted log; None elsewhere."""
    is_tombstone: bool = False
    source: str = ""
    """Of which record of the input it was made, `partition:offset`; empty for one that was made of nothing."""
    port: int = 0
    """By which node it was answered."""

    def line(self) -> str:
        error = f" {self.error}" if self.error else ""
        offset = "" if self.offset is None else f" at {self.offset}"
        where = f"{self.at[0]}-{self.at[1]}"
        return f"{self.incarnation.client} send {self.value.decode()} to {where}: {self.outcome.value}{offset}{error}"


@dataclass(slots=True, eq=False)
class Poll:
    """What one Fetch showed of one partition to a reader."""

    client: str
    is_committed: bool
    """Whether it read with read_committed."""
    at: TopicPartition
    began_us: int
    ended_us: int
    boot: int
    """Of which run of the broker it came."""
    fetch: int
    """Which Fetch of this client it is of: polls with the same number show one moment."""
    from_offset: int
    next_offset: int
    records: list[tuple[int, bytes]]
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    is_moved: bool = False
    """Whether the program said where to read on, so that it does not follow the poll before."""

    def line(self) -> str:
        kind = "committed" if self.is_committed else "all"
        values = ",".join(f"{offset}:{value.decode()}" for offset, value in self.records)
        where = f"{self.at[0]}-{self.at[1]}"
        ends = f"{self.last_stable_offset}/{self.high_watermark}"
        return f"{self.client} poll {kind} {where} {self.from_offset}..{self.next_offset} of {ends}: {values}"


@dataclass(slots=True, eq=False)
class OffsetRead:
    """A group's committed offset of one partition, as it was answered."""

    client: str
    group: str
    at: TopicPartition
    began_us: int
    ended_us: int
    offset: int

    def line(self) -> str:
        return f"{self.client} offset of {self.group} {self.at[0]}-{self.at[1]}: {self.offset}"


@dataclass(slots=True, eq=False)
class Event:
    """Something that was done to the world."""

    text: str
    at_us: int

    def line(self) -> str:
        return f"world {self.text}"


class Entry(Protocol):
    """Whatever is printed of it."""

    def line(self) -> str: ...


class History:
    """Everything, in the order in which it began."""

    def __init__(self) -> None:
        self.incarnations: list[Incarnation] = []
        self.transactions: list[Transaction] = []
        self.sends: list[Send] = []
        self.polls: list[Poll] = []
        self.final: list[Poll] = []
        """What readers from the log's start see when everything is over: both kinds of readers, every partition."""
        self.caught_up: set[str] = set()
        """The readers that were given the time to read on to the end when everything was over."""
        self.scans: list[Scan] = []
        self.promises: dict[str, Promise] = {}
        """By topic: of logs of which something goes."""
        self.clock_jumps = 0
        """How often the wall clock is set ahead: then nobody can say how old anything is."""
        self.offset_reads: list[OffsetRead] = []
        self.final_offsets: list[OffsetRead] = []
        self.lives: list[TopicLife] = []
        self.changes: list[Change] = []
        self.deletions: list[RecordsDeleted] = []
        self.views: list[TopicView] = []
        self.config_views: list[ConfigView] = []
        self.inputs = 0
        """How many partitions the groups read."""
        self.standbys = 0
        """How many standby tasks each partition of a streams group has, as far as there are members."""
        self.owned: list[Owned] = []
        self.settled: list[Owned] = []
        """What each member had at the end."""
        self.commits: list[Commit] = []
        self.group_reads: list[OffsetRead] = []
        """Of groups that commit outside of transactions."""
        self.loop_offsets: dict[TopicPartition, int] = {}
        """Where the group that consumes, processes and produces is at the end; empty if there is none."""
        self.leaders = Leaders()
        """Of all partitions, where there are several nodes."""
        self.unanswered: list[Unanswered] = []
        self.sink = SinkHistory()
        self.shares = ShareHistory()
        self.security = SecurityHistory()
        self.schemas = SchemaHistory()
        self.events: list[Event] = []
        self.terms: Terms | None = None
        """By which rules about time judge; None where nobody knows."""
        self.nodes = 1
        """How many the broker has."""
        self.lacks_replicas = False
        """Whether a partition may have no leader for a while, or fewer replicas in sync than min.insync.replicas."""
        self.all_survives = True
        """Whether a death took nothing that was written: a kill does not, a power cut does."""
        self.rests_long = False
        """Whether work in slices pauses for seconds, by chance."""
        self.disk_fails = False
        """Whether writes failed, or a start may have found the disk full: a partition that cannot take its marker does
        not hold the others up then."""

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Each with the time at which it began, in order."""
        kinds: list[Iterable[tuple[int, Entry]]] = [
            _by("at_us", self.events),
            _by("began_us", self.incarnations, self.transactions, self.sends, self.polls, self.scans),
            _by("began_us", self.offset_reads, self.lives, self.changes),
            _by("ended_us", self.deletions),
            _by("began_us", self.views, self.config_views),
            _by("at_us", self.owned, self.settled),
            _by("began_us", self.commits, self.group_reads),
            _by("ended_us", self.unanswered, self.shares.deliveries),
            _by("began_us", self.shares.acknowledgements, self.shares.resets),
            _by("began_us", self.sink.attempts, self.sink.calls),
            self.security.entries(),
            _by("began_us", self.schemas.registrations, self.schemas.views, self.schemas.subjects),
            _by("began_us", self.final, self.final_offsets),
        ]
        yield from sorted(chain.from_iterable(kinds), key=itemgetter(0))

    def lines(self) -> Iterator[str]:
        """As they are printed: milliseconds, who, what."""
        for at_us, entry in self.entries():
            yield f"{at_us / 1000:12.3f} {entry.line()}"


def _by(moment: str, *kinds: Iterable[Entry]) -> Iterator[tuple[int, Entry]]:
    yield from ((getattr(each, moment), each) for kind in kinds for each in kind)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be, and by which rule."""

    rule: str
    text: str

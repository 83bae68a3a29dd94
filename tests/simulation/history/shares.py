"""What the members of a share group got, and how they acknowledged it (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.simulation.history.history import Outcome, TopicPartition
    from tests.simulation.history.nodes import Leaders

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""The types of acknowledgements, with Kafka's numbers."""
FINAL = frozenset({GAP, ACCEPT, REJECT})
"""After these a record never comes again."""
_LETTERS = "gaxrw"
NEVER_US = 1 << 62


def _for_ever(at: TopicPartition, from_us: int) -> int:
    return NEVER_US


@dataclass(slots=True, eq=False)
class SessionLife:
    """One share session of a member, on one connection."""

    member: str
    alive_us: int
    """When the last request began that was answered: until then the broker had the connection."""
    kept_until_us: Callable[[TopicPartition, int], int] = _for_ever
    """As ShareHistory has it."""


@dataclass(slots=True, eq=False)
class Delivery:
    """Records of one partition that one ShareFetch acquired, with one delivery count."""

    session: SessionLife
    at: TopicPartition
    first: int
    last: int
    count: int
    began_us: int
    """When the request began; the records were acquired between then and `ended_us`."""
    ended_us: int
    boot: int
    """Of which run of the broker it came."""
    lock_ms: int
    values: dict[int, bytes]
    """The records by offset. An offset in the range without a record is a gap."""
    acknowledged: list[Acknowledgement] = field(default_factory=list)

    def line(self) -> str:
        where = f"{self.at[0]}-{self.at[1]} {self.first}..{self.last}"
        return f"{self.session.member} gets {where}, delivery {self.count}, {len(self.values)} records"


@dataclass(slots=True, eq=False)
class Acknowledgement:
    """What a member said of a range of records that it got together."""

    delivery: Delivery
    first: int
    types: tuple[int, ...]
    """One for each offset from `first` on."""
    began_us: int
    outcome: Outcome
    ended_us: int | None = None
    error: str = ""

    @property
    def last(self) -> int:
        return self.first + len(self.types) - 1

    def type_of(self, offset: int) -> int | None:
        """The type for this offset; None if the acknowledgement is not about it."""
        return self.types[offset - self.first] if self.first <= offset <= self.last else None

    def line(self) -> str:
        what = "".join(_LETTERS[each] for each in self.types)
        where = f"{self.delivery.at[0]}-{self.delivery.at[1]} {self.first}:{what}"
        error = f" {self.error}" if self.error else ""
        return f"{self.delivery.session.member} acknowledges {where}: {self.outcome.value}{error}"


@dataclass(slots=True, eq=False)
class Reset:
    """An offset that was set while the group should have no member (APIs 91 and 92)."""

    at: TopicPartition
    offset: int
    """The first record that is delivered then."""
    began_us: int
    outcome: Outcome
    ended_us: int = NEVER_US
    heard_us: int = NEVER_US
    """When the leader had heard of it for certain: it stores nothing more in the state of before."""
    error: str = ""

    def may_have_been(self, since_us: int, until_us: int) -> bool:
        """Whether it may have been made between the two."""
        return not self.error and self.began_us < until_us and since_us < self.heard_us

    def line(self) -> str:
        return f"{self.at[0]}-{self.at[1]} is reset to {self.offset}: {self.outcome.value} {self.error}".rstrip()


class Membership(NamedTuple):
    """A time in which a member was in the group for certain."""

    member: str
    from_us: int
    until_us: int


@dataclass(frozen=True, slots=True)
class SharePromise:
    """The settings of the share group, by which the rules judge."""

    topic: str
    is_committed: bool
    delivery_count_limit: int
    has_dead_letters: bool = False
    """Whether there is a topic for what is rejected, or delivered too often."""


class ShareHistory:
    """Of the only share group of a run."""

    def __init__(self) -> None:
        self.promise: SharePromise | None = None
        """None in a run without a share group."""
        self.deliveries: list[Delivery] = []
        self.acknowledgements: list[Acknowledgement] = []
        self.dead_letters: list[bytes] = []
        """The values of the records that the dead letters are copies of."""
        self.lost_fetches_us: list[int] = []
        """When requests began that may have acquired records, but whose answers did not come."""
        self.resets: list[Reset] = []
        self.memberships: list[Membership] = []
        self.leaders: Leaders | None = None
        """What is known of who led; None where there is one node."""

    def note_stored(self, acknowledgement: Acknowledgement) -> None:
        """The leader has stored something, as no record of a first acknowledgement was finished before."""
        of, at = acknowledgement.delivery, acknowledgement.delivery.at
        if of.acknowledged[0] is acknowledgement and acknowledgement.began_us < of.began_us + of.lock_ms * 1000:
            for each in self.resets:
                if each.at == at and each.ended_us < of.began_us:
                    each.heard_us = min(each.heard_us, acknowledgement.ended_us or NEVER_US)

    def kept_until_us(self, at: TopicPartition, from_us: int) -> int:
        """Until when no other node led for certain than at `from_us`, nor was the partition reset."""
        led_until_us = NEVER_US if self.leaders is None else self.leaders.led_until_us(at, from_us)
        resets_us = [each.began_us for each in self.resets if each.at == at and each.may_have_been(from_us, NEVER_US)]
        return min([led_until_us, *resets_us])

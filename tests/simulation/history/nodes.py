"""Who led partitions, where there are several nodes."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, eq=False)
class LeaderView:
    """What Metadata said of one partition."""

    at: tuple[str, int]
    port: int
    """Of the node that leads it; 0 for nobody."""
    epoch: int
    began_us: int
    ended_us: int

    def line(self) -> str:
        return f"{self.at[0]}-{self.at[1]} is led at port {self.port} in epoch {self.epoch}"


class LeaderTerm(NamedTuple):
    """The first and the last view of one epoch: in between no other node led."""

    first: LeaderView
    last: LeaderView


class Leaders:
    """What was seen of them, in the order of time."""

    def __init__(self) -> None:
        self._terms: dict[tuple[str, int], list[LeaderTerm]] = {}

    def seen(self, view: LeaderView) -> None:
        of_partition = self._terms.setdefault(view.at, [])
        if of_partition and of_partition[-1].first.epoch == view.epoch:
            of_partition[-1] = LeaderTerm(of_partition[-1].first, view)
        else:
            of_partition.append(LeaderTerm(view, view))

    def term(self, at: tuple[str, int], at_us: int) -> LeaderTerm | None:
        """The last one that was seen before then; it may be over."""
        of_partition = self._terms.get(at, [])
        index = bisect_right(of_partition, at_us, key=_first_seen_us) - 1
        return of_partition[index] if index >= 0 else None

    def led_until_us(self, at: tuple[str, int], from_us: int) -> int:
        """Until when no other node led for certain than at `from_us`."""
        term = self.term(at, from_us)
        return from_us if term is None else max(from_us, term.last.began_us)


def _first_seen_us(term: LeaderTerm) -> int:
    return term.first.ended_us

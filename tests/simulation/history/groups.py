"""What members of groups were assigned, and what they committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.history.history import Outcome


@dataclass(slots=True, eq=False)
class Owned:
    """What a member was assigned, in one generation or at one member epoch."""

    client: str
    group: str
    who: str
    """The instance id of a static member, else the member id: another life is somebody else."""
    epoch: int
    """The generation, or the member epoch; -1 for one that is in no group."""
    partitions: tuple[int, ...]
    asked_us: int
    """When it asked what this is the answer to: it was given to it between then and `at_us`."""
    at_us: int
    ended_us: int | None = None
    """When it asked what it was answered with another share; or when it was no member any more."""
    is_lost: bool = False
    """Whether it heard too late: it was put out of the group, or came back as somebody else."""
    standbys: tuple[int, ...] = ()
    """The partitions of its standby tasks."""

    def line(self) -> str:
        standbys = f", standbys {list(self.standbys)}" if self.standbys else ""
        return f"{self.client} is {self.who} of {self.group} in {self.epoch} with {list(self.partitions)}{standbys}"


@dataclass(slots=True, eq=False)
class Commit:
    """An OffsetCommit of one partition."""

    client: str
    group: str
    epoch: int
    at: tuple[str, int]
    offset: int
    began_us: int
    outcome: Outcome
    ended_us: int | None = None
    error: str = ""

    def line(self) -> str:
        error = f" {self.error}" if self.error else ""
        what = f"{self.offset} of {self.at[0]}-{self.at[1]} for {self.group} in {self.epoch}"
        return f"{self.client} commits {what}: {self.outcome.value}{error}"

"""The result of a run, and how it is printed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.simulation.history.history import Finding, History
from tests.simulation.plans.plan import Plan


@dataclass
class Result:
    """`findings` is empty if all was as it has to be."""

    seed: int
    plan: Plan
    history: History
    findings: list[Finding] = field(default_factory=list)
    deaths: int = 0
    cuts: int = 0
    turns: int = 0
    changes: int = 0
    """Of the disk, from the clients' beginning to the last misfortune."""
    simulated_ms: int = 0

    @property
    def committed(self) -> int:
        """How many transactions were committed, and that was answered."""
        return sum(each.is_committed for each in self.history.transactions)

    def lines(self) -> Iterator[str]:
        """The trace: the same bytes for the same seed."""
        yield f"seed {self.seed}: {self.plan.line()}"
        yield from self.history.lines()
        for finding in self.findings:
            yield f"FOUND {finding.rule}: {finding.text}"
        yield self.summary()

    def summary(self) -> str:
        """In a line."""
        done = self.history
        return (
            f"seed {self.seed}: {self.simulated_ms} ms, {self.turns} turns, {self.deaths} deaths, {self.cuts} cuts,"
            f" {len(done.sends)} records, {self.committed} of {len(done.transactions)} transactions committed,"
            f" {len(self.findings)} findings"
        )

"""A row of the table of programs that are tried against the broker, and what its program is started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.processes.server import ROOT

PROGRAMS = ROOT / "tests" / "ecosystem"
AT_LEAST_ONCE, EXACTLY_ONCE = "at least once", "exactly once"


@dataclass(frozen=True)
class Row:
    """A framework or tool in one version, and a program of ours that copies a topic or a table into a topic with it.

    pins: the packages with their versions, as the language's package manager writes them; the first is the row's own.
    left_out: of Java, packages `group:artifact` that the pins name and that the program does without.
    program: a file under tests/ecosystem, run as `PROGRAM ADDRESS SOURCE TARGET GROUP DIRECTORY`.
    """

    name: str
    pins: tuple[str, ...]
    program: str
    guarantee: str
    settings: str = ""  # Markdown: what the program has to set, and why
    traps: str = ""  # Markdown: what surprises in the tool itself, with Apache Kafka, too
    reads_table: bool = False  # whether SOURCE is the port of a PostgreSQL that has the table `numbers`
    reads_committed: bool = True  # whether it can leave out the records of aborted transactions
    left_out: tuple[str, ...] = ()
    is_quick: bool = False  # whether a run without --long takes it

    @property
    def version(self) -> str:
        """The version in the first pin: faststream[kafka]==0.7.8, org.apache.kafka:connect-mirror:4.4.0, …@v3.0.6."""
        return self.pins[0].replace("==", ":").replace("@", ":").rpartition(":")[2]

    @property
    def is_exact(self) -> bool:
        return self.guarantee == EXACTLY_ONCE

    @property
    def source(self) -> Path:
        return PROGRAMS / self.program

"""What a run is like: which clients there are, what the broker is set to, what befalls it.

Each field is a number that can be made smaller (`running/shrinking.py`) or set by hand (`--with field=value`).
"""

from dataclasses import dataclass, field, fields
from typing import Any

from tests.simulation.plans.producing import Producing
from tests.simulation.plans.queue import QueuePlan
from tests.simulation.plans.sink import SinkPlan
from tests.simulation.secured.plan import SecurityPlan
from tests.simulation.world.machine import MachineSettings
from tests.simulation.world.network import Weather

Configs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. Times in milliseconds of the world."""

    length_ms: int
    partitions: int
    transactional: int = 0
    """How many transactional producers there are."""
    zombies: int = 0
    """How many of them have a second life elsewhere, under the same transactional id."""
    idempotent: int = 0
    admins: int = 0
    """How many create, change and delete topics of their own."""
    members: int = 0
    """How many a group has that commits its offsets itself."""
    processors: int = 0
    """How many a group has that consumes, processes and produces in transactions."""
    group_protocol: str = "classic"
    """Of both: classic, consumer, mixed, or streams."""
    static_members: bool = False
    inputs: int = 0
    """How many partitions the groups read."""
    readers: int = 0
    protocol: int = 2
    in_flight: int = 1
    timeout_ms: int = 60_000
    """Of transactions."""
    abort: float = 0.0
    abandon: float = 0.0
    """How probable it is that a transaction is left open and its producer begins again."""
    offsets: float = 0.0
    deaths: int = 0
    at_disk_calls: bool = False
    """Whether deaths are at calls of the disk; else between any two turns, or in the middle of one."""
    disk_errors: int = 0
    """How often a write to a partition's log fails."""
    full_disks: int = 0
    """How often the disk is full for a while."""
    clock_jumps: int = 0
    """How often the machine's wall clock goes ahead."""
    weather: Weather = field(default_factory=Weather)
    machine: MachineSettings = field(default_factory=MachineSettings)
    producing: Producing = field(default_factory=Producing)
    features: tuple[str, ...] = field(default=())
    sinks: int = 0
    """Whether there is a Spark sink: 1, or 0."""
    sink: SinkPlan = field(default_factory=SinkPlan)
    secured: int = 0
    """Whether clients have to log in, and rights and quotas are set: 1, or 0."""
    security: SecurityPlan = field(default_factory=SecurityPlan)
    read_writers: int = 0
    """How many read and write in one transaction."""
    sharers: int = 0
    """How many members a share group has."""
    queue: QueuePlan = field(default_factory=QueuePlan)
    registrars: int = 0
    """How many register schemas."""
    is_scripted: bool = False
    """Whether the transactional producers follow a script, each transaction of which is of another kind."""
    failing_calls: int = 0
    """How often calls of any kind fail, on any kind of file."""
    compacted: int = 0
    """How many write to a topic that is compacted."""
    compaction: Configs = ()
    """Of that topic."""
    ageing: int = 0
    """How many write to a topic of which retention deletes."""
    retention: Configs = ()
    """Of that topic."""
    cuts: tuple[int, ...] = ()
    """Before which change of the disk the broker dies, counted from the clients' beginning; then from each boot on."""

    def line(self) -> str:
        """All of it, for the head of a trace."""
        return " ".join(f"{each.name}={_text(getattr(self, each.name))}" for each in fields(self))


def _text(value: Any) -> str:
    return str(value).replace(" ", "")

"""The plan of a walk: a script of transactions, and a death before a certain change of the disk."""

from typing import cast, get_args

from tests.simulation.plans.plan import Plan
from tests.simulation.plans.sink import SinkPlan
from tests.simulation.plans.swarm import COMMON, SYNCED
from tests.simulation.world.machine import MachineSettings
from tests.simulation.world.network import Weather
from tests.support.files.memory_files import Survival

TIMEOUT_MS = 5_000


def walk_named(name: str) -> Plan:
    """The walk without a death, from a name such as 2/nothing. ValueError."""
    protocol, _, survival = name.partition("/")
    if survival not in get_args(Survival):
        raise ValueError(f"what survives is one of {', '.join(get_args(Survival))}, not {survival!r}")
    return walk(int(protocol), cast("Survival", survival))


def walk(protocol: int, survival: Survival, *cuts: int) -> Plan:
    """cuts: before which change it dies first, and how many changes each of the next runs has."""
    return Plan(
        length_ms=2 * TIMEOUT_MS,
        partitions=3,
        transactional=1,
        zombies=0,
        idempotent=0,
        admins=0,
        members=0,
        processors=0,
        group_protocol="classic",
        static_members=False,
        inputs=0,
        sinks=0,
        sink=SinkPlan(),
        readers=2,
        protocol=protocol,
        in_flight=1,
        timeout_ms=TIMEOUT_MS,
        abort=0.0,
        abandon=0.0,
        offsets=0.0,
        deaths=0,
        at_disk_calls=False,
        disk_errors=0,
        full_disks=0,
        clock_jumps=0,
        weather=Weather(),
        machine=MachineSettings(broker=COMMON | ({} if survival == "everything" else SYNCED), survival=survival),
        is_scripted=True,
        cuts=cuts,
    )

"""The plan of a walk: a script of transactions, and a death before a certain change of the disk."""

from typing import cast, get_args

from tests.simulation.plans.plan import Plan
from tests.simulation.plans.swarm import COMMON, SYNCED
from tests.simulation.world.machine import MachineSettings
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
        readers=2,
        protocol=protocol,
        timeout_ms=TIMEOUT_MS,
        machine=MachineSettings(broker=COMMON | ({} if survival == "everything" else SYNCED), survival=survival),
        is_scripted=True,
        cuts=cuts,
    )

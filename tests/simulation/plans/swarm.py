"""The plan of a run, drawn from its seed.

Swarm testing: each run has only some of the features, and those it has more often, so that rare combinations are met.
"""

import random
from typing import Any

from barnabas.protocol.security.listener_protocols import PLAINTEXT, SASL_PLAINTEXT
from tests.simulation.plans.log_plan import LOG_FEATURES, QUICK_CLEANING, QUICK_DELETION, logs_of
from tests.simulation.plans.networking import worse_network
from tests.simulation.plans.plan import Plan
from tests.simulation.plans.producing import LIBRDKAFKA, producing_for
from tests.simulation.plans.queue import queue_for, sharers_for, streams_group_for
from tests.simulation.plans.sink import SinkPlan, sink_for
from tests.simulation.secured.plan import TICK_S, SecurityPlan, security_for
from tests.simulation.world.machine import MachineSettings
from tests.simulation.world.network import Weather

COMMON = {
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
_QUICK_SESSIONS = {
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.assignment.interval.ms": "100",
}
_NODES, _QUEUE_NODES = 0.2, 0.35  # how probable it is that there are three, without a share group and with one
_TWO_PHASE = {"transaction.two.phase.commit.enable": "true"}
_EACH, _LAST_DIGIT = 10, 9  # of the seeds with a schema registry
SYNCED = {"log.flush.interval.messages": "1"}


FEATURES = (
    *("aborts", "abandoned", "zombies", "idempotent", "offsets", "deaths", "power", "disk deaths", "cuts"),
    *("slow network", "split", "small segments", "slow threads", "short timeouts", "hasty slices", "pipelined"),
    *("disk errors", "full disk", "clock jumps"),
)
RARE_FEATURES = ("admins", "groups")
"""What costs more than it finds if it is in every second run. Drawn apart, so that the others stay as they are."""

DISK_FEATURES = ("failing calls", "late jobs")
"""Drawn apart likewise."""


def plan_for(seed: int) -> Plan:
    """The run of a seed."""
    dice = random.Random(f"{seed}/plan")
    has = {feature for feature in FEATURES if dice.random() < 0.5}
    disk_dice = random.Random(f"{seed}/disk features")
    disk = {feature for feature in DISK_FEATURES if disk_dice.random() < 0.2}
    rare_dice = random.Random(f"{seed}/rare features")
    rare = {feature for feature in RARE_FEATURES if rare_dice.random() < 0.25}
    sharers, queue = sharers_for(seed), queue_for(seed)
    if sharers:
        rare = set()
    logs, producing = logs_of(seed, has_any=not sharers), producing_for(seed)
    sink = None if sharers else sink_for(seed, clock_jumps="clock jumps" in has)
    settings = _settings(dice, has | rare | logs.features, sink)
    settings |= queue.settings() if sharers else {}
    nodes, of_nodes = _nodes(seed, probability=_QUEUE_NODES if sharers else _NODES)
    settings |= of_nodes
    settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"] = str(producing.check_ms)
    worse = worse_network(seed)
    settings |= worse.settings()
    # The sink's own client blocks, and does not log in.
    security = None if sink is not None or sharers else security_for(seed, has_idle_limit=bool(worse.settings()))
    settings |= {} if security is None else security.settings()
    settings |= SYNCED if "power" in has else {}
    survival = _survival(dice, disk_dice, has)
    weather = _weather(dice, has)
    machine = MachineSettings(
        broker=settings,
        survival=survival,
        torn="power" in has and dice.random() < 0.3,
        nodes=nodes,
        haste_s=1.0 if sink is None and security is None else 0.02,  # as both list everything there is
        **_slowness(has | disk),
        **_doors(security),
    )
    transactional = dice.randint(1, 3)
    return Plan(
        length_ms=dice.choice([4_000, 8_000, 15_000]),
        partitions=dice.randint(1, 3),
        transactional=transactional,
        zombies=dice.randint(1, transactional) if "zombies" in has else 0,
        idempotent=dice.randint(1, 2) if "idempotent" in has else 0,
        admins=rare_dice.randint(1, 2) if "admins" in rare else 0,
        **(streams_group_for(seed) if sharers else _groups(rare_dice, rare)),
        readers=dice.randint(1, 2),
        read_writers=0 if sharers else _read_writers(seed),
        sharers=sharers,
        queue=queue,
        registrars=_registrars(seed),
        protocol=min(dice.choice([1, 2]), 1 if producing.stock == LIBRDKAFKA else 2),
        in_flight=dice.choice([2, 5]) if "pipelined" in has else 1,
        timeout_ms=producing.timeout_ms(dice.choice([500, 2_000]) if "short timeouts" in has else 10_000),
        abort=0.3 if "aborts" in has else 0.0,
        abandon=0.1 if "abandoned" in has else 0.0,
        offsets=0.5 if "offsets" in has else 0.0,
        **_misfortunes(dice, disk_dice, has | disk),
        sinks=int(sink is not None),
        sink=sink or SinkPlan(),
        secured=int(security is not None),
        security=security or SecurityPlan(),
        weather=worse.weather(producing.weather(weather)),
        machine=machine,
        producing=producing,
        features=tuple(sorted(has | rare | disk | logs.features | producing.features() | worse.features())),
        compacted=logs.compacted,
        compaction=logs.compaction,
        ageing=logs.ageing,
        retention=logs.retention,
    )


def _misfortunes(dice: random.Random, disk_dice: random.Random, has: set[str]) -> dict[str, Any]:
    return {
        "deaths": dice.randint(1, 5) if "deaths" in has else 0,
        "at_disk_calls": "disk deaths" in has,
        "disk_errors": dice.randint(1, 6) if "disk errors" in has else 0,
        "failing_calls": disk_dice.randint(2, 12) if "failing calls" in has else 0,
        "full_disks": dice.randint(1, 2) if "full disk" in has else 0,
        "clock_jumps": dice.randint(1, 3) if "clock jumps" in has else 0,
    }


def _slowness(has: set[str]) -> dict[str, Any]:
    return {
        "slow_jobs": 0.05 if "slow threads" in has else 0.0,
        "late_jobs": 0.03 if "late jobs" in has else 0.0,
        "hasty_slices": 0.2 if "hasty slices" in has else 0.0,
    }


def _doors(security: SecurityPlan | None) -> dict[str, Any]:
    """Through what clients come in, and whether looks at the stopwatch take time."""
    return {
        "protocol": PLAINTEXT if security is None else SASL_PLAINTEXT,
        "tick_s": 0.0 if security is None or not security.throttled else TICK_S,
    }


def _survival(dice: random.Random, disk_dice: random.Random, has: set[str]) -> Any:
    """What a death leaves of unsynced data."""
    if "power" not in has:
        return "everything"
    survival = dice.choice(["some", "nothing"])
    return "scattered" if disk_dice.random() < 0.4 else survival


def _weather(dice: random.Random, has: set[str]) -> Weather:
    return Weather(
        slow=0.05 if "slow network" in has else 0.0,
        slow_us=dice.choice([300_000, 5_000_000]),
        split=0.3 if "split" in has else 0.0,
        cut=dice.choice([0.005, 0.03]) if "cuts" in has else 0.0,
    )


def _nodes(seed: int, *, probability: float) -> tuple[int, dict[str, str]]:
    """How many nodes there are, and what they are set to."""
    dice = random.Random(f"{seed}/nodes")
    if dice.random() >= probability:
        return 1, {}
    return 3, {
        "min.insync.replicas": str(dice.choice([1, 1, 2])),
        "leader.imbalance.check.interval.seconds": str(dice.choice([2, 300])),
    }


def _read_writers(seed: int) -> int:
    dice = random.Random(f"{seed}/read writers")
    return dice.randint(1, 3) if dice.random() < 0.25 else 0


def _registrars(seed: int) -> int:
    """How many clients the schema registry has: some in each tenth run, in which there is no share group."""
    return random.Random(f"{seed}/registrars").randint(1, 3) if seed % _EACH == _LAST_DIGIT else 0


def _settings(dice: random.Random, has: set[str], sink: SinkPlan | None) -> dict[str, str]:
    """The broker's."""
    settings = dict(COMMON)
    if sink is not None and sink.two_phase:
        settings |= _TWO_PHASE
    if "admins" in has:
        settings |= QUICK_DELETION
    if "groups" in has:
        settings |= _QUICK_SESSIONS
    if not has.isdisjoint(LOG_FEATURES):
        settings |= QUICK_DELETION | QUICK_CLEANING
    if "small segments" in has:
        # a segment is full when its index is
        settings["log.index.size.max.bytes"] = str(dice.choice([40, 100, 400]))
        settings["log.index.interval.bytes"] = "1"
        settings["log.roll.ms"] = str(dice.choice([500, 5_000, 1 << 40]))
    return settings


def _groups(dice: random.Random, rare: set[str]) -> dict[str, Any]:
    has_any = "groups" in rare
    kinds = dice.choice([(1, 1), (2, 0), (3, 1), (0, 2), (2, 2)])
    return {
        "members": kinds[0] if has_any else 0,
        "processors": kinds[1] if has_any else 0,
        "group_protocol": dice.choice(["classic", "consumer"]),
        "static_members": dice.random() < 0.3,
        "inputs": dice.randint(1, 4),
    }

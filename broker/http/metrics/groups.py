"""Groups of consumers: members, what they committed, how far behind they are.

Groups are loaded at their first use; a scrape is one. Those that are still being loaded are told in the next scrape.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.classic.states import State
from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.http.metrics.table import GROUP_PARTITIONS_MAX, GROUPS_MAX
from barnabas.broker.turns import let_others_run
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.machine import GroupMachine
    from barnabas.broker.partitions.partitions import Partitions

_SLICE = 100  # groups looked at before others have their turn
_OF_STATE = "kafka_coordinator_group_groupmetadatamanager_numgroups"


async def read_groups(sources: Sources, readings: Readings) -> None:
    """Add what is told of groups."""
    machines = _machines(sources)
    found = sorted((group_id, machine) for machine in machines for group_id in machine.group_ids())
    states: Counter[State] = Counter()
    reader = _GroupReader(sources.services.partitions, readings)
    for number, (group_id, machine) in enumerate(found, start=1):
        group = machine.group(group_id)
        if group is not None:  # it may be gone since others had their turn
            states[group.state] += 1
            if number <= GROUPS_MAX:
                readings.add("kafka_consumergroup_members", len(group.members), group_id)
                reader.read(group_id, machine)
        if number % _SLICE == 0:
            await let_others_run(sources.services.clock)
    readings.add(_OF_STATE, states.total())
    for state in State:
        readings.add(_OF_STATE + state.value.lower(), states[state])
    readings.add("barnabas_metrics_left_out", max(0, len(found) - GROUPS_MAX), "groups")
    readings.add("barnabas_metrics_left_out", reader.left_out, "committed offsets")


def _machines(sources: Sources) -> list[GroupMachine]:
    """The loaded ones; what is not is begun to be."""
    services = sources.services
    if CONSUMER_OFFSETS_TOPIC not in services.catalogue.topics:
        return []
    there = services.partitions.directory.partitions  # the others have no group in them
    services.groups.load_in_background([index for topic, index in there if topic == CONSUMER_OFFSETS_TOPIC])
    return [partition.machine for partition in services.groups.loaded()]


class _GroupReader:
    """Adds what groups committed, for as many partitions as may be told."""

    def __init__(self, partitions: Partitions, readings: Readings) -> None:
        self._partitions = partitions
        self._readings = readings
        self._told = 0
        self.left_out = 0

    def read(self, group_id: str, machine: GroupMachine) -> None:
        """One group."""
        for topic, by_partition in sorted(machine.durable.offsets(group_id).items()):
            lags = [
                lag
                for partition, committed in sorted(by_partition.items())
                if (lag := self._read_partition(group_id, topic, partition, committed.offset)) is not None
            ]
            if lags:
                self._readings.add("kafka_consumergroup_lag_sum", sum(lags), group_id, topic)

    def _read_partition(self, group_id: str, topic: str, partition: int, offset: int) -> int | None:
        """The lag, where it is known."""
        if self._told == GROUP_PARTITIONS_MAX:
            self.left_out += 1
            return None
        self._told += 1
        place = group_id, topic, partition
        self._readings.add("kafka_consumergroup_current_offset", offset, *place)
        ends = self._ends(topic, partition)
        if ends is None:
            return None
        end, stable = ends
        self._readings.add("kafka_consumergroup_lag", end - offset, *place)
        self._readings.add("barnabas_consumergroup_lag_committed", max(0, stable - offset), *place)
        return end - offset

    def _ends(self, topic: str, partition: int) -> tuple[int, int] | None:
        """Where a reader gets, and where one of committed records does; None while that is not known."""
        if self._partitions.is_open(topic, partition):
            log = self._partitions.get(topic, partition)
            return log.high_watermark, log.last_stable_offset
        if not self._partitions.exists(topic, partition):
            return None
        end = self._partitions.directory.resting_end(topic, partition)
        return None if end is None else (end, end)

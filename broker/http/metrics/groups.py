"""Groups of all types: members, committed offsets, lag.

Groups are loaded at their first use; a scrape is a use. Groups that are still loading are in the next scrape.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.consumer.model import GroupState
from barnabas.broker.coordinator.group.decisions.share.model import ShareGroupState
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsGroupState
from barnabas.broker.http.metrics.metric_table import GROUP_PARTITIONS_MAX, GROUPS_MAX
from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.insight.inspection.groups import (
    Committed,
    LoadedGroup,
    begin_loading,
    group_coordinators,
    loaded_groups,
)
from barnabas.broker.insight.inspection.lag import lag
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.services import Services

_SLICE = 100  # groups read in a step
_OF_COORDINATOR = "kafka_server_group_coordinator_metrics_"
_PARTITION_STATES = ("active", "loading", "failed")
_STATES: dict[str, type[Enum]] = {
    "classic": ClassicGroupState,
    "consumer": GroupState,
    "share": ShareGroupState,
    "streams": StreamsGroupState,
}
_OF_STATE = "kafka_coordinator_group_groupmetadatamanager_numgroups"


def read_groups(sources: Sources, readings: Readings) -> Steps[None]:
    """Add the values of groups."""
    begin_loading(sources.services)
    found = loaded_groups(sources.services)
    states: Counter[Enum] = Counter()
    reader = _GroupReader(sources.services, readings)
    for number, group in enumerate(found, start=1):
        summary = group.summary()
        if summary is not None:  # it may be gone since the last step
            states[summary.state] += 1
            if number <= GROUPS_MAX:
                readings.add("kafka_consumergroup_members", summary.members_count, group.group_id)
                reader.read(group)
        if number % _SLICE == 0:
            yield
    readings.add(_OF_STATE, sum(states[state] for state in ClassicGroupState))
    for state in ClassicGroupState:
        readings.add(_OF_STATE + state.value.lower(), states[state])
    for protocol, of_protocol in _STATES.items():
        for each in of_protocol:
            readings.add(f"{_OF_COORDINATOR}{protocol}_group_count", states[each], each.value.lower())
        readings.add(f"{_OF_COORDINATOR}group_count", sum(states[state] for state in of_protocol), protocol)
    totals = group_coordinators(sources.services)
    for protocol in ("consumer", "share", "streams"):
        readings.add(f"{_OF_COORDINATOR}{protocol}_group_rebalance_count", totals.rebalances[protocol])
    for partition_state in _PARTITION_STATES:
        count = totals.partitions_by_state[partition_state]
        readings.add(f"{_OF_COORDINATOR}num_partitions", count, partition_state)
    readings.add("barnabas_metrics_left_out", max(0, len(found) - GROUPS_MAX), "groups")
    readings.add("barnabas_metrics_left_out", reader.left_out, "committed offsets")


class _GroupReader:
    """Adds the committed offsets of groups, up to the limit of partitions with separate series."""

    def __init__(self, services: Services, readings: Readings) -> None:
        self._services = services
        self._readings = readings
        self._added = 0
        self.left_out = 0

    def read(self, group: LoadedGroup) -> None:
        """Add one group."""
        for topic, of_topic in groupby(group.committed(), key=attrgetter("topic")):
            found = [self._read_partition(group.group_id, committed) for committed in of_topic]
            known = [to_end for to_end in found if to_end is not None]
            if known:
                self._readings.add("kafka_consumergroup_lag_sum", sum(known), group.group_id, topic)

    def _read_partition(self, group_id: str, committed: Committed) -> int | None:
        """Add one partition; return the lag to its end, if it is known."""
        if self._added == GROUP_PARTITIONS_MAX:
            self.left_out += 1
            return None
        self._added += 1
        place = group_id, committed.topic, committed.partition
        self._readings.add("kafka_consumergroup_current_offset", committed.offset, *place)
        behind = lag(self._services, committed)
        if behind is None:
            return None
        self._readings.add("kafka_consumergroup_lag", behind.read_uncommitted, *place)
        self._readings.add("barnabas_consumergroup_lag_committed", behind.read_committed, *place)
        return behind.read_uncommitted

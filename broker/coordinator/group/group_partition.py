"""A partition of __consumer_offsets with the groups in it, on which all group operations run.

It is loaded at the first request for one of its groups, so a start does not depend on the number of groups. Clients
handle COORDINATOR_LOAD_IN_PROGRESS, as Kafka answers it after each change of coordinator.
"""

from __future__ import annotations

from typing import TypeAlias

from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
from barnabas.broker.coordinator.runtime.coordinator_partitions import CoordinatorPartition

GroupPartition: TypeAlias = CoordinatorPartition[GroupMachine]

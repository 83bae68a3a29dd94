"""A partition of __consumer_offsets with the groups in it, on which all group operations run."""

from __future__ import annotations

from typing import TypeAlias

from barnabas.broker.coordinator.group.decisions.machine import GroupMachine
from barnabas.broker.coordinator.runtime.ownership import CoordinatorPartition

GroupPartition: TypeAlias = CoordinatorPartition[GroupMachine]

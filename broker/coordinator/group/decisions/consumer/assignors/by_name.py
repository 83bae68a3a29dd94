"""The available server-side assignors, by the name that a consumer requests (`group.remote.assignor`).

Each is a function of the group alone. It takes a millisecond for a small group and too long for a turn of the event
loop for a large one, so it runs in steps: docs/decisions/0107-assignments-are-kafkas.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from barnabas.broker.coordinator.group.decisions.consumer.assignors import range_assignor, uniform
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import GroupSpec, Steps

Assignor: TypeAlias = Callable[[GroupSpec], Steps]

ASSIGNORS: Mapping[str, Assignor] = MappingProxyType({"uniform": uniform.assign, "range": range_assignor.assign})
"""The default first, as in `group.consumer.assignors`."""

"""The faults of one broker: what can be armed there, what is armed, and what meets it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.table import table_for
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.disk_faults import DiskFaults
from barnabas.broker.control.faults.model import Plan
from barnabas.broker.control.faults.on_requests.actions import Actions
from barnabas.broker.control.faults.on_requests.wrapping import RequestFaults
from barnabas.broker.control.faults.plan.of_points import points
from barnabas.broker.control.faults.plan.reading import Known, plan_of, read_plan
from barnabas.broker.control.faults.point_faults import PointFaults, check_ends_nobody
from barnabas.broker.control.faults.registry import FaultRegistry

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.control.faults.on_requests.wrapping import Intercepted
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events
    from barnabas.storage.disk.disk import Disk


class Faults:
    """registry: those that are armed."""

    def __init__(
        self,
        nodes: Sequence[Intercepted],
        loop: AbstractEventLoop,
        clock: Clock,
        events: Events,
        disks: Sequence[Disk] = (),
        *,
        may_crash: bool = True,
    ) -> None:
        """clock: the machine's. disks: of the data directories. may_crash: whether the process is the broker's own."""
        self.registry = FaultRegistry(loop, clock, events)
        self._may_crash = may_crash
        self._points = PointFaults(self.registry, events)
        self._disks = DiskFaults(self.registry, disks, loop)
        self._requests = RequestFaults(self.registry, nodes, Actions(self.registry, loop))
        self._known = known_in(nodes[0].services.config, [node.node_id for node in nodes])

    def arm_json(self, text: bytes | str) -> list[Armed]:
        """Arm a plan, or one fault. FaultRefused."""
        return self._arm(read_plan(text, self._known))

    def arm_value(self, asked: Any) -> list[Armed]:
        """As `arm_json`, of a value that JSON has."""
        return self._arm(plan_of(asked, self._known))

    def _arm(self, plan: Plan) -> list[Armed]:
        if not self._may_crash:
            check_ends_nobody(plan)
        return self.registry.arm(plan)


def known_in(config: BrokerConfig, nodes: Collection[int]) -> Known:
    """What there is to match in a broker of this configuration."""
    return Known(
        apis={row.key: (row.min_version, row.max_version) for row in table_for(config)},
        nodes=nodes,
        listeners=[listener.name for listener in config.listeners],
        points=points(),
    )

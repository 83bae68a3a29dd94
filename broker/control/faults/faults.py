"""The faults of one broker: which can be armed, which are armed, and the parts that apply them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.api.api_table import table_for
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.disk_faults import DiskFaults
from barnabas.broker.control.faults.on_requests.actions import Actions
from barnabas.broker.control.faults.on_requests.wrapping import RequestFaults
from barnabas.broker.control.faults.plan.of_points import points
from barnabas.broker.control.faults.plan.reading import Known, read_plan
from barnabas.broker.control.faults.point_faults import PointFaults, check_has_no_crash
from barnabas.broker.control.faults.registry import FaultRegistry

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.control.faults.on_requests.wrapping import Intercepted
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events
    from barnabas.storage.disk.disk import Disk


class Faults:
    """The faults of one broker. registry: the armed faults."""

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
        """Create it. clock: the machine's. disks: of the data directories. may_crash: whether crashes may be armed."""
        self.registry = FaultRegistry(loop, clock, events)
        self._may_crash = may_crash
        self._points = PointFaults(self.registry, events)
        self._disks = DiskFaults(self.registry, disks, loop)
        self._requests = RequestFaults(self.registry, nodes, Actions(self.registry, loop))
        self._known = known_in(nodes[0].services.config, [node.node_id for node in nodes])

    def arm_json(self, text: bytes | str) -> list[Armed]:
        """Arm a plan, or one fault. Raise FaultRefused if it is invalid."""
        plan = read_plan(text, self._known)
        if not self._may_crash:
            check_has_no_crash(plan)
        return self.registry.arm(plan)


def known_in(config: BrokerConfig, nodes: Collection[int]) -> Known:
    """Return what can be matched in a broker of this configuration."""
    return Known(
        apis={row.key: (row.min_version, row.max_version) for row in table_for(config)},
        nodes=nodes,
        listeners=[listener.name for listener in config.listeners],
        points=points(),
    )

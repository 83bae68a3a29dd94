"""Faults that a test arms: what they match, what they do, how often; and the requests that match them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Sequence

    from barnabas.broker.control.faults.faults import Faults
    from barnabas.broker.control.faults.on_requests.wrapping import Intercepted
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events
    from barnabas.storage.disk.disk import Disk


def open_faults(
    nodes: Sequence[Intercepted],
    loop: AbstractEventLoop,
    clock: Clock,
    events: Events,
    disks: Sequence[Disk] = (),
    *,
    may_crash: bool = True,
) -> Faults:
    """Create the faults of a broker, none armed. The parameters are those of `Faults`."""
    from barnabas.broker.control.faults.faults import Faults

    return Faults(nodes, loop, clock, events, disks, may_crash=may_crash)

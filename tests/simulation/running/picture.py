"""Who waits for whom, where a run stands still: what each client waits for, and what the broker is at.

The same lines for the same seed. Looks, and changes nothing.
"""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CoroutineType, FrameType
from typing import Any

from barnabas.broker.insight.why.hanging import hanging
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.server.broker import Broker
from barnabas.storage.steps import finish
from tests.simulation.clients.wire import Wire
from tests.simulation.world.machine import Machine
from tests.simulation.world.process import Process
from tests.simulation.world.world import World


def picture(world: World, machine: Machine, wires: Iterable[Wire]) -> str:
    """Of this moment; a line each."""
    return "\n".join(["who waits for whom:", *(f"  {line}" for line in _lines(world, machine, wires))])


def _lines(world: World, machine: Machine, wires: Iterable[Wire]) -> Iterator[str]:
    for wire in wires:
        yield from wire.open_requests()
    for process in world.processes:
        yield from _of_process(process)
    if machine.process is None:
        yield "no broker runs"
    elif machine.broker is not None:
        yield from _of_broker(machine.broker)


def _of_process(process: Process) -> Iterator[str]:
    for name, since_us in process.jobs:
        yield f"{process.name}: a thread is at {name}, asked for at {since_us / 1000:.3f} ms"
    for task in process.tasks:
        yield f"{process.name}: {' < '.join(reversed(list(_stack(task))))}"


def _stack(task: asyncio.Task[Any]) -> Iterator[str]:
    """Where a task stands, from the outermost coroutine to the innermost."""
    awaited: Any = task.get_coro()
    while isinstance(awaited, CoroutineType):
        frame: FrameType | None = awaited.cr_frame
        if frame is None:
            return
        yield f"{awaited.__name__} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
        awaited = awaited.cr_await


def _of_broker(broker: Broker) -> Iterator[str]:
    for member in broker.members:
        listener = member.listener
        yield f"node {member.node_id}: {listener.connections_count} connections"
        for connection in listener.connections:
            if connection.is_busy:
                state = "a request waits for its answer" if connection.is_parked else "an answer waits for the peer"
                yield f"node {member.node_id}: {connection.client_id or '?'} at {connection.peer}: {state}"
    services = broker.services
    syncing = "" if broker.flush.is_busy else " not"
    yield f"broker: {len(services.purgatory)} requests are parked; files are{syncing} being synced"
    for about, answer in finish(hanging(WhySources(services))).items():
        for sentence in answer.sentences:
            yield f"broker: {about}: {sentence}"

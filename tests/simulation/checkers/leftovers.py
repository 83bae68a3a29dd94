"""The rule about a broker whose clients are all gone: it holds nothing of them any more.

What Kafka keeps for clients that may come back is not meant: producers' states, fetch sessions and groups' offsets have
limits and times of their own.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

from barnabas.broker.app import Broker
from barnabas.broker.net.connection import Connection
from barnabas.protocol.files.names import FileState
from tests.simulation.world.disk import Disk


def leftovers(broker: Broker, disk: Disk, loop: asyncio.AbstractEventLoop, *, looks_at_objects: bool) -> Iterator[str]:
    """No connection, no request that waits, no memory for one, no file that nobody needs.

    looks_at_objects: whether connections are looked for among all objects, too, which takes its time.
    """
    services, listeners = broker.services, [member.listener for member in broker.members]
    counts = {
        "connections": sum(listener.connections_count for listener in listeners),
        "frames that are not whole": sum(len(listener.frame_memory._holders) for listener in listeners),
        "parked requests": len(services.waiters),
        "bytes of parked records": services.partitions.recoveries.parked_bytes,
        "work in slices": services.slices.under_way,
        "tasks": len(asyncio.all_tasks(loop)),
    }
    if looks_at_objects:
        every = (each for each in gc.get_objects() if isinstance(each, Connection))
        counts["connections that are closed"] = sum(each._listener in listeners for each in every)
    for what, count in counts.items():
        if count:
            yield f"{count} {what} are left"
    for path, count in sorted(disk.open_paths.items()):
        there = sum(_is_there(disk, path + state.value) for state in (FileState.LIVE, FileState.DELETED))
        if count > there:
            yield f"{path} is open {count} times, and there {there} times"


def _is_there(disk: Disk, path: str) -> bool:
    try:
        return disk.peek(path) is not None
    except FileNotFoundError:  # nor is its folder
        return False

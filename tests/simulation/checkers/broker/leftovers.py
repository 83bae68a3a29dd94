"""The rule about a broker whose clients are all gone: it holds nothing of them any more.

What Kafka keeps for clients that may come back is not meant: producers' states, fetch sessions and groups' offsets have
limits and times of their own.
"""

import asyncio
import gc
from collections.abc import Iterator
from functools import partial

from barnabas.broker.api.authentication.sasl_authenticator import SaslAuthenticator
from barnabas.broker.network.connection import Connection
from barnabas.broker.runtime.clock import Timer
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.nodes.broker_node import BrokerNode
from barnabas.protocol.files.names import FileState
from tests.simulation.world.disk import Disk


def leftovers(broker: Broker, disk: Disk, loop: asyncio.AbstractEventLoop, *, looks_at_objects: bool) -> Iterator[str]:
    """No connection, no request that waits, no memory for one, no file that nobody needs.

    looks_at_objects: whether connections are looked for among all objects, too, which takes its time.
    """
    services, listeners = broker.services, [member.listener for member in broker.members]
    counts = {
        "connections": sum(listener.connections_count for listener in listeners),
        "frames that are not whole": sum(
            len(memory._holders) for each in listeners for memory in (each.frame_memory, each.strangers_memory)
        ),
        "parked requests": len(services.purgatory),
        "bytes of parked records": services.partitions.recoveries.parked_bytes,
        "work in slices": services.request_scheduler.under_way,
        "tasks": len(asyncio.all_tasks(loop)),
        "muted connections": sum(_muted_count(member) for member in broker.members),
        "refusals that are held back": sum(map(_is_refusal, _timers(broker))),
    }
    if looks_at_objects:
        every = (each for each in gc.get_objects() if isinstance(each, Connection))
        counts["connections that are closed"] = sum(each._listener in listeners for each in every)
    for what, count in counts.items():
        if count:
            yield f"{count} {what} are left"
    for path, count in sorted(disk.open_paths.items()):
        there = _times_there(disk, path)
        if count > there:
            yield f"{path} is open {count} times, and there {there} times"


def _muted_count(member: BrokerNode) -> int:
    made = member.services.quotas._made
    return 0 if made is None else len(made.muting)


def _timers(broker: Broker) -> list[Timer]:
    """Those of the clock of delayed refusals."""
    clocks = {
        id(sasl_listener.machine_clock): sasl_listener.machine_clock
        for member in broker.members
        for sasl_listener in member.sasl_listeners.values()
    }
    return [timer for clock in clocks.values() for _, _, timer in clock._timers._heap]  # type: ignore[attr-defined]  # because it is a SystemClock


def _is_refusal(timer: Timer) -> bool:
    callback = timer.callback
    return isinstance(callback, partial) and callback.func.__module__ == SaslAuthenticator.__module__


def _times_there(disk: Disk, path: str) -> int:
    """Under its name and as what waits to be removed: compaction may replace a file again before that."""
    folder, _, name = path.rpartition("/")
    try:
        names = disk.peek_names(folder)
    except FileNotFoundError:
        return 0
    return sum(each == name or _waits(each, name) for each in names)


def _waits(each: str, name: str) -> bool:
    """Whether it is `name.deleted`, or `name.1.deleted`."""
    if not each.startswith(f"{name}.") or not each.endswith(FileState.DELETED.value):
        return False
    number = each[len(name) : -len(FileState.DELETED.value)]
    return not number or number[1:].isdigit()

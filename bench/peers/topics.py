"""Topics for measurements: created before a load, and deleted before the next."""

import itertools
import os
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.peers.floor_process import FloorProcess
from bench.peers.peer import Peer

_numbers = itertools.count(1)
_READY_S, _GONE_S = 120.0, 30.0


def fresh_topic(peer: Peer, partitions: int = 1) -> str:
    """Create an unused topic, and write one message to each partition; return its name.

    A cluster may know a topic before its partitions can be written to, and the raw client does not retry.
    """
    name = f"bench-{next(_numbers)}"
    if isinstance(peer.server, FloorProcess):
        return name
    admin = AdminClient(_client(peer))
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(_READY_S)
    producer = Producer(_client(peer))
    for partition in range(partitions):
        producer.produce(name, b"0", partition=partition)
    if producer.flush(_READY_S):
        raise RuntimeError(f"{peer.name}: {name} could not be written to in {_READY_S:.0f} s")
    return name


def drop_topic(peer: Peer, name: str) -> None:
    """Delete a topic; its files go a little later."""
    if isinstance(peer.server, FloorProcess):
        peer.server.empty()
        return
    admin = AdminClient(_client(peer))
    for future in admin.delete_topics([name]).values():
        future.result(_READY_S)


def _client(peer: Peer) -> dict[str, str | int | float | bool]:
    return {"bootstrap.servers": f"127.0.0.1:{peer.port}", "log_level": 5}  # at 6 it logs its own end


def settle(peers: list[Peer]) -> None:
    """Wait until the files of all deleted topics are gone and all other writes are on the disk, so that no load
    pays for the one before it.
    """
    deadline = time.monotonic() + _GONE_S
    for peer in peers:
        while any(peer.server.data_dir.glob("*-delete")) and time.monotonic() < deadline:
            time.sleep(0.05)  # noqa: TID251  # polling the timers of two brokers, from outside
    os.sync()

"""Topics to measure with."""

from __future__ import annotations

import itertools

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.bench.peers import Peer

_numbers = itertools.count(1)


def fresh_topic(peer: Peer, partitions: int = 1) -> str:
    """Create a topic nobody used before, and write one message to each partition; returns its name.

    A cluster may know a topic before its partitions can be written to, and the raw client tries nothing twice.
    """
    name = f"bench-{next(_numbers)}"
    address = {"bootstrap.servers": f"127.0.0.1:{peer.port}"}
    admin = AdminClient(address)
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(30)
    producer = Producer(address)
    for partition in range(partitions):
        producer.produce(name, b"0", partition=partition)
    if producer.flush(30):
        raise RuntimeError(f"{peer.name}: {name} could not be written to in 30 s")
    return name

"""Who answers at an address: a Kafka broker, and which one, or somebody else, or nobody. Bounded in time."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.client.addresses import Address
from barnabas.client.clock import Clock, Deadline
from barnabas.client.connection import Connection
from barnabas.client.errors import ConnectionFailed
from barnabas.client.metadata import ClusterInfo, read_metadata
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.metadata import MetadataRequest


class Met(NamedTuple):
    """A broker that answered: what it says of its cluster, and how long that took."""

    cluster: ClusterInfo
    took_ms: float


class NotMet(NamedTuple):
    """Nobody answered, or nobody who speaks Kafka's protocol. `connects`: somebody took the connection."""

    reason: str
    connects: bool


def meet(address: Address, clock: Clock, timeout_ms: int) -> Met | NotMet:
    """Ask whoever is at an address for its metadata."""
    deadline = Deadline(clock, timeout_ms)
    started = clock.monotonic()
    try:
        connection = Connection(address, "barnabas-doctor", deadline)
    except KafkaError as failed:
        connects = not isinstance(failed, ConnectionFailed) or not failed.message.startswith("cannot connect")
        return NotMet(failed.message, connects)
    try:
        cluster = read_metadata(connection.ask(MetadataRequest(topics=[]), deadline))
    except KafkaError as failed:
        return NotMet(failed.message, True)
    finally:
        connection.close()
    return Met(cluster, (clock.monotonic() - started) * 1000)

"""Who answers at an address: a Kafka broker, and which one, or somebody else, or nobody. Bounded in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.client.addresses import Address
from barnabas.client.client import Client
from barnabas.client.clock import Clock
from barnabas.client.errors import ConnectionFailed
from barnabas.client.metadata import ClusterInfo
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings


class Met(NamedTuple):
    """A broker that answered: what it says of its cluster, and how long that took."""

    cluster: ClusterInfo
    took_ms: float


class NotMet(NamedTuple):
    """Nobody answered, or nobody who speaks Kafka's protocol. `connects`: somebody took the connection."""

    reason: str
    connects: bool


def meet(address: Address, clock: Clock, timeout_ms: int, security: SecuritySettings | None = None) -> Met | NotMet:
    """Ask whoever is at an address for its metadata."""
    started = clock.monotonic()
    try:
        with Client(
            [address], client_id="barnabas-doctor", timeout_ms=timeout_ms, clock=clock, security=security
        ) as client:
            cluster = client.connect()
    except KafkaError as failed:
        connects = not isinstance(failed, ConnectionFailed) or not failed.message.startswith("cannot connect")
        return NotMet(failed.message, connects)
    return Met(cluster, (clock.monotonic() - started) * 1000)

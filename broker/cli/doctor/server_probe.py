"""The server at an address: which Kafka broker, another program, or none. With timeouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.client.addresses import Address
from barnabas.client.client import Client
from barnabas.client.clock import ClientClock
from barnabas.client.errors import ConnectionFailed
from barnabas.client.metadata import ClusterInfo
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings


class ProbedBroker(NamedTuple):
    """A broker that answered: its description of its cluster, and the response time."""

    cluster: ClusterInfo
    took_ms: float


class ProbeFailure(NamedTuple):
    """No answer, or not one of Kafka's protocol. `connects`: the connection was accepted."""

    reason: str
    connects: bool


def probe(
    address: Address, clock: ClientClock, timeout_ms: int, security: SecuritySettings | None = None
) -> ProbedBroker | ProbeFailure:
    """Request the metadata of the server at an address."""
    started = clock.monotonic()
    try:
        with Client(
            [address], client_id="barnabas-doctor", timeout_ms=timeout_ms, clock=clock, security=security
        ) as client:
            cluster = client.connect()
    except KafkaError as failed:
        connects = not isinstance(failed, ConnectionFailed) or not failed.message.startswith("cannot connect")
        return ProbeFailure(failed.message, connects)
    return ProbedBroker(cluster, (clock.monotonic() - started) * 1000)

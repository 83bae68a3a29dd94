"""Members of a group that a test makes."""

from collections.abc import Iterator

import pytest

from barnabas.client.client import Client
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from tests.support.client_clock import StandingClock
from tests.support.scripted.consumer_group import ConsumerGroup, Member, MemberOf
from tests.support.scripted.group import TOPIC


@pytest.fixture
def consumer_member() -> Iterator[MemberOf]:
    """Makes member "m" of a consumer group, on a clock that stands."""
    clients: list[Client] = []

    def make(broker: ConsumerGroup, protocol: ConsumerProtocol | None = None, *, auto_commit: bool = True) -> Member:
        client = Client(broker.address, clock=StandingClock(), timeout_ms=5000)
        clients.append(client)
        protocol = protocol or ConsumerProtocol(member_id="m")
        return Member(client, "g", [TOPIC], protocol=protocol, auto_commit=auto_commit)

    yield make
    for client in clients:
        client.close()

"""What the JavaScript clients do beside what every client does: number their batches, if they are asked to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.compat.clients.js_client import JsClient
from tests.compat.conftest import JS
from tests.compat.model import COMPRESSIONS, Client, as_stored, by_position, messages_for
from tests.support.server import Server


@pytest.fixture(scope="module", params=JS)
def idempotent(request: pytest.FixtureRequest) -> Iterator[JsClient]:
    client = JsClient(request.param, idempotent=True)
    yield client
    client.close()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_an_idempotent_producer_writes_others_read(
    server: Server, clients: Mapping[str, Client], idempotent: JsClient, compression: str
) -> None:
    topic = f"{idempotent.name}-idempotent-{compression}"
    messages = messages_for(idempotent, compression)

    offsets = idempotent.write(server.address, topic, messages, compression)

    assert [offset for message, offset in zip(messages, offsets, strict=True) if message.partition == 2] == [*range(20)]
    assert by_position(clients["java-4.3.1"].read(server.address, topic)) == as_stored(messages)

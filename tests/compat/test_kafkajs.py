"""What kafkajs can do beside what every client does: number its batches, which it does not by default."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.compat.clients.kafkajs_client import KafkaJs
from tests.compat.model import COMPRESSIONS, Client, as_stored, by_position, messages_for
from tests.support.server import Server


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_its_idempotent_producer_writes_others_read(
    server: Server, clients: Mapping[str, Client], compression: str
) -> None:
    kafkajs, topic = clients["kafkajs"], f"kafkajs-idempotent-{compression}"
    assert isinstance(kafkajs, KafkaJs)
    messages = messages_for(kafkajs, compression)

    offsets = kafkajs.write(server.address, topic, messages, compression, idempotent=True)

    assert [offset for message, offset in zip(messages, offsets, strict=True) if message.partition == 2] == [*range(20)]
    assert by_position(clients["java-4.3.1"].read(server.address, topic)) == as_stored(messages)

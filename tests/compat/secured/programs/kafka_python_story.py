"""kafka-python over a secured listener: a transaction that commits, one that aborts, and a group."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.compat.secured.story import ABORTED, COMMITTED, Settings, tell

POLL_MS = 10_000
"""Longer than a rebalance takes: kafka-python forgets the assignment of a join that ends between two polls."""


class Given(AbstractTokenProvider):
    """Provides the token of the settings."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.password

    def token(self) -> str:
        return self._token


def run(settings: Settings) -> list[str]:
    common: dict[str, Any] = {
        "bootstrap_servers": settings.address,
        "security_protocol": settings.protocol,
        "sasl_mechanism": settings.mechanism,
        "sasl_plain_username": settings.user,
        "sasl_plain_password": settings.password,
        "sasl_oauth_token_provider": Given(settings),
        "ssl_cafile": settings.authority or None,
        "bootstrap_timeout_ms": 5_000,
    }
    producer = KafkaProducer(**common, transactional_id=settings.name, max_block_ms=10_000)
    producer.init_transactions()
    for values, end in ((COMMITTED, producer.commit_transaction), (ABORTED, producer.abort_transaction)):
        producer.begin_transaction()
        for value in values:
            producer.send(settings.name, value.encode()).get(timeout=10)
        end()
    producer.close()
    consumer = KafkaConsumer(
        settings.name,
        **common,
        group_id=settings.name,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    found: list[str] = []
    while len(found) < len(COMMITTED):
        records = consumer.poll(POLL_MS)
        found += [record.value.decode() for each in records.values() for record in each]
    consumer.commit()
    consumer.close()
    return found


if __name__ == "__main__":
    tell(run)

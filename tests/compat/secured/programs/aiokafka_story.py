"""aiokafka over a secured listener: a transaction that commits, one that aborts, and a group."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.helpers import create_ssl_context

from tests.compat.secured.story import ABORTED, COMMITTED, Settings, tell


class Given(AbstractTokenProvider):
    """Provides the token of the settings."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.password

    async def token(self) -> str:
        return self._token


def run(settings: Settings) -> list[str]:
    return asyncio.run(_run(settings))


async def _run(settings: Settings) -> list[str]:
    common: dict[str, Any] = {
        "bootstrap_servers": settings.address,
        "security_protocol": settings.protocol,
        "sasl_mechanism": settings.mechanism,
        "sasl_plain_username": settings.user,
        "sasl_plain_password": settings.password,
        "sasl_oauth_token_provider": Given(settings),
    }
    if settings.authority:
        common["ssl_context"] = create_ssl_context(cafile=settings.authority)
    producer = AIOKafkaProducer(**common, transactional_id=settings.name)
    await producer.start()
    try:
        for values, is_kept in ((COMMITTED, True), (ABORTED, False)):
            await producer.begin_transaction()
            for value in values:
                await producer.send_and_wait(settings.name, value.encode())
            await (producer.commit_transaction() if is_kept else producer.abort_transaction())
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(
        settings.name,
        **common,
        group_id=settings.name,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        found = [(await consumer.getone()).value.decode() for _ in COMMITTED]
        await consumer.commit()
    finally:
        await consumer.stop()
    return found


if __name__ == "__main__":
    tell(run)

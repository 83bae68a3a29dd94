"""confluent-kafka (librdkafka) over a secured listener: a transaction that commits, one that aborts, and a group."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from tests.compat.secured.story import ABORTED, COMMITTED, Settings, tell


def run(settings: Settings) -> list[str]:
    failed: list[KafkaError] = []

    def on_error(error: KafkaError) -> None:
        if error.code() == KafkaError._AUTHENTICATION:
            failed.append(error)

    common: dict[str, Any] = {
        "bootstrap.servers": settings.address,
        "security.protocol": settings.protocol,
        "sasl.mechanism": settings.mechanism,
        "error_cb": on_error,
    }
    if settings.mechanism == "OAUTHBEARER" and settings.password:
        common["oauth_cb"] = lambda _: (settings.password, time.time() + 60)
    elif settings.mechanism == "OAUTHBEARER":
        common |= {"enable.sasl.oauthbearer.unsecure.jwt": True}
        common |= {"sasl.oauthbearer.config": f"principal={settings.user}"}
    else:
        common |= {"sasl.username": settings.user, "sasl.password": settings.password}
    if settings.authority:
        common["ssl.ca.location"] = settings.authority
    producer = Producer(common | {"transactional.id": settings.name})
    _begin(producer, failed)
    for values, end in ((COMMITTED, producer.commit_transaction), (ABORTED, producer.abort_transaction)):
        producer.begin_transaction()
        for value in values:
            producer.produce(settings.name, value)
        producer.flush(10)
        end(10)
    consumer = Consumer(common | {"group.id": settings.name, "auto.offset.reset": "earliest"})
    consumer.subscribe([settings.name])
    found: list[str] = []
    while len(found) < len(COMMITTED):
        for message in consumer.consume(10, 0.1):
            if message.error():
                raise KafkaException(message.error())
            found.append((message.value() or b"").decode())
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def _begin(producer: Producer, failed: list[KafkaError]) -> None:
    """Wait until the producer is known; only its callback says at once that the password is wrong."""
    for turn in range(10):
        with suppress(KafkaException):  # the next turn tries again
            return producer.init_transactions(1)
        producer.poll(0)
        if failed and turn:  # so that there was time for a second attempt
            raise KafkaException(failed[0])
    raise TimeoutError("the transactions were not initialised")


if __name__ == "__main__":
    tell(run)

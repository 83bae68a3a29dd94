"""A stock client at work, for its own process: `python -m tests.support.clients.round_trip HOST:PORT TOPIC`.

Writes three records and reads them back; prints them with the advertised addresses of the brokers, as JSON.
"""

import json
import sys

from kafka import KafkaConsumer, KafkaProducer

TIMEOUT_MS = 30_000


def main(bootstrap: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    for number in range(3):
        producer.send(topic, str(number).encode(), partition=0)
    producer.flush(TIMEOUT_MS / 1000)
    consumer = KafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=TIMEOUT_MS
    )
    values = [next(consumer).value.decode() for _ in range(3)]
    brokers = sorted(f"{broker.host}:{broker.port}" for broker in producer._metadata.brokers())
    consumer.close()
    producer.close()
    print(json.dumps({"values": values, "brokers": brokers}))


if __name__ == "__main__":
    main(*sys.argv[1:])

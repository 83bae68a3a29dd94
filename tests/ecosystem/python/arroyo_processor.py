"""arroyo_processor ADDRESS SOURCE TARGET GROUP DIRECTORY: copy a topic into another with Sentry's arroyo."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from arroyo.backends.kafka import KafkaConsumer, KafkaPayload, KafkaProducer
from arroyo.backends.kafka.configuration import build_kafka_configuration, build_kafka_consumer_configuration
from arroyo.commit import IMMEDIATE
from arroyo.processing.processor import StreamProcessor
from arroyo.processing.strategies import CommitOffsets, ProcessingStrategy, ProcessingStrategyFactory, Produce
from arroyo.types import Commit, Partition, Topic


class Copies(ProcessingStrategyFactory[KafkaPayload]):
    """Writes each record to the topic `target`, and commits its offset after the broker has acknowledged it."""

    def __init__(self, producer: KafkaProducer, target: str) -> None:
        self._producer = producer
        self._target = Topic(target)

    def create_with_partitions(
        self, commit: Commit, partitions: Mapping[Partition, int]
    ) -> ProcessingStrategy[KafkaPayload]:
        return Produce(self._producer, self._target, CommitOffsets(commit))


def main(address: str, source: str, target: str, group: str) -> None:
    consumer = KafkaConsumer(build_kafka_consumer_configuration({}, group, "earliest", bootstrap_servers=[address]))
    producer = KafkaProducer(build_kafka_configuration({}, bootstrap_servers=[address]))
    StreamProcessor(consumer, Topic(source), Copies(producer, target), IMMEDIATE).run()


if __name__ == "__main__":
    main(*sys.argv[1:5])

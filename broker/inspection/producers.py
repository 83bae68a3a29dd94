"""The producers a partition remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.inspection.logs import log_of

if TYPE_CHECKING:
    from barnabas.broker.context import Services
    from barnabas.storage.producers.producer import ProducerState


def producers(services: Services, topic: str, partition: int) -> list[ProducerState]:
    """Every producer of the partition, idempotent ones included. KafkaError as `log_of`."""
    log = log_of(services, topic, partition)
    return [] if log is None else log.producers_state()

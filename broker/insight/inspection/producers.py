"""The producers a partition remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.insight.inspection.logs import log_of

if TYPE_CHECKING:
    from collections.abc import Container

    from barnabas.broker.services import Services
    from barnabas.storage.producers.producer import ProducerState


def producers(
    services: Services, topic: str, partition: int, on_disk: Container[tuple[str, int]] | None = None
) -> list[ProducerState]:
    """Every producer of the partition, idempotent ones included. KafkaError and `on_disk` as `log_of`."""
    log = log_of(services, topic, partition, on_disk)
    return [] if log is None else log.producers_state()

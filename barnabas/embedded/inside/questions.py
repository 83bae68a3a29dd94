"""Calls about a running broker, answered in plain values from its own state.

A view of the broker's read model (broker/insight/inspection/), and it waits where that does not: for recoveries and
loading. Each call is a function of the broker's services and the arguments. Records are read as a Fetch reads them
and decoded as a consumer decodes them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from barnabas.broker.insight.inspection.topics import every_topic
from barnabas.broker.insight.inspection.transactions import every_transaction, started_ms
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.services import Services
from barnabas.client.consume.decoding import Aborted, decode_records
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.log.log import PartitionLog

_PAGE_BYTES = 1 << 20
_RECOVERY_MS = 60_000  # retried then

Page = tuple[list[tuple[Any, ...]], int | None]
"""Records (offset, timestamp, key, value, headers), and the start of the next page, None after the last."""


def topics(services: Services) -> dict[str, int]:
    """Return the present topics, internal ones too, with the number of their partitions."""
    return {topic.name: topic.partitions_count for topic in every_topic(services)}


async def records(services: Services, topic: str, partition: int, is_committed: bool, offset: int | None) -> Page:
    """Return a page of the records a consumer sees from `offset`, None for the first one. Raises KafkaError."""
    log = await _recovered_log(services, topic, partition)
    if log is None:
        return [], None
    start = log.log_start_offset if offset is None else offset
    end = log.last_stable_offset if is_committed else log.high_watermark
    if start >= end:
        return [], None
    found = log.read(start, _PAGE_BYTES, committed=is_committed, force_first_batch=True)
    if found.data is None:
        return [], None
    aborted = None if found.aborted is None else [Aborted(*each) for each in found.aborted]
    decoded = decode_records(found.read_all(), start, aborted, where=f"{topic}-{partition}")
    return [tuple(record) for record in decoded.records], decoded.next_offset


async def offsets(services: Services, topic: str, partition: int) -> tuple[int, int, int]:
    """Return the log start offset, the last stable offset and the high watermark. Raises KafkaError."""
    log = await _recovered_log(services, topic, partition)
    if log is None:
        return 0, 0, 0
    return log.log_start_offset, log.last_stable_offset, log.high_watermark


async def _recovered_log(services: Services, topic: str, partition: int) -> PartitionLog | None:
    """Return the partition's log, after any recovery; None for one never written to. Raises KafkaError."""
    while True:
        try:
            return services.partitions.get_if_written(topic, partition)
        except StillRecovering:
            await services.partitions.recovered([(topic, partition)], _RECOVERY_MS)


async def transactions(services: Services) -> list[tuple[Any, ...]]:
    """Return every transactional id, as the fields of barnabas.embedded.answers.Transaction. Raises KafkaError."""
    while True:
        try:
            found = every_transaction(services)
            break
        except KafkaError as error:
            if error.code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                raise
            await services.upkeep.next_turn()  # the loader runs in it, too
    return [
        (
            txn.transactional_id,
            txn.state.value,
            txn.producer_id,
            txn.producer_epoch,
            txn.timeout_ms,
            started_ms(txn),
            tuple(sorted(txn.partitions)),
        )
        for txn in sorted(found, key=lambda txn: txn.transactional_id)
    ]


def now_ms(services: Services) -> int:
    """Return the time of the broker's clock."""
    return services.clock.now_ms()


QUESTIONS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {each.__name__: each for each in (now_ms, offsets, records, topics, transactions)}
)

"""What can be asked of a running broker, answered in plain values from its own state: no client, no second opinion.

Each question is a function of the broker's services and the arguments. Records are read as a Fetch reads them and
decoded as a consumer decodes them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from barnabas.broker.context import Services
from barnabas.broker.partitions.recoveries import StillRecovering
from barnabas.broker.turns import let_others_run
from barnabas.client.consume.decoding import Aborted, decode_records
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC
from barnabas.storage.log.log import PartitionLog

_PAGE_BYTES = 1 << 20
_RECOVERY_MS = 60_000  # asked again then

Page = tuple[list[tuple[Any, ...]], int | None]
"""Records (offset, timestamp, key, value, headers), and where the next page begins, None after the last."""


def topics(services: Services) -> dict[str, int]:
    """The topics there are, the broker's own too, with the number of their partitions."""
    return {name: len(topic.partitions) for name, topic in services.catalogue.topics.items()}


async def records(services: Services, topic: str, partition: int, is_committed: bool, offset: int | None) -> Page:
    """A page of the records a consumer sees from `offset`, None for the first there is. KafkaError."""
    if _is_unused(services, topic, partition):
        return [], None
    log = await _log_of(services, topic, partition)
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
    """The log start offset, the last stable offset and the high watermark. KafkaError."""
    if _is_unused(services, topic, partition):
        return 0, 0, 0
    log = await _log_of(services, topic, partition)
    return log.log_start_offset, log.last_stable_offset, log.high_watermark


async def _log_of(services: Services, topic: str, partition: int) -> PartitionLog:
    """The partition's log, however long it has to be recovered first. KafkaError."""
    while True:
        try:
            return services.partitions.get(topic, partition)
        except StillRecovering:
            await services.partitions.recovered([(topic, partition)], _RECOVERY_MS)


async def transactions(services: Services) -> list[tuple[Any, ...]]:
    """Every transactional id, as the fields of barnabas.embedded.answers.Transaction. KafkaError."""
    if TRANSACTION_STATE_TOPIC not in services.catalogue.topics:
        return []
    while True:
        try:
            found = services.transactions.transactions()
            break
        except KafkaError as error:
            if error.code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                raise
            await let_others_run(services.clock)  # the loader among them
    return [
        (
            txn.transactional_id,
            txn.state.value,
            txn.producer_id,
            txn.producer_epoch,
            txn.timeout_ms,
            txn.start_timestamp_ms if txn.start_timestamp_ms >= 0 else None,
            tuple(sorted(txn.partitions)),
        )
        for txn in sorted(found, key=lambda txn: txn.transactional_id)
    ]


def now_ms(services: Services) -> int:
    """The broker's clock."""
    return services.clock.now_ms()


def _is_unused(services: Services, topic: str, partition: int) -> bool:
    """Whether the partition exists and was never written to or opened: looking must not make its directory."""
    partitions = services.partitions
    return partitions.exists(topic, partition) and (topic, partition) not in partitions.directory.partitions


QUESTIONS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {each.__name__: each for each in (now_ms, offsets, records, topics, transactions)}
)

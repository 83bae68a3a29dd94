"""The results of one Produce request, some of which come later: of batches that are walked first, or that are synced.

Knows futures and results, not how either is made. It is not compiled, because it awaits: docs/compiled.md.
"""

from __future__ import annotations

from asyncio import Future
from typing import TypeAlias

from barnabas.broker.partitions.produce.deferred_appends import RECORD_ERRORS_MAX, Outcome, Syncing, refusal, shortened
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.hot.produce import PartitionResult
from barnabas.protocol.hot.writing import Topic

Produced: TypeAlias = list[tuple[Topic, list[PartitionResult]]]
Pending: TypeAlias = list[tuple[Topic, list["Outcome | Future[Outcome]"]]]


async def all_results(answers: Pending, named: int) -> Produced:
    """Return all results, in the order of the request. `named`: the number of record errors so far."""
    for _, results in answers:
        for position, pending in enumerate(results):
            if not isinstance(pending, PartitionResult):
                outcome = await pending if isinstance(pending, Future) else pending
                result = await _when_synced(outcome) if isinstance(outcome, Syncing) else outcome
                results[position] = result = shortened(result, RECORD_ERRORS_MAX - named)
                named += len(result.record_errors)
    return answers  # type: ignore[return-value]  # because all are results now


async def _when_synced(appended: Syncing) -> PartitionResult:
    try:
        await appended.synced
    except KafkaError as error:
        return refusal(appended.result.partition, error)
    try:
        if appended.confirm is not None:
            appended.confirm(appended.log)
    except KafkaError as error:  # it is in the log nevertheless, and Kafka returns its offset
        return appended.result._replace(error_code=error.code)
    return appended.result

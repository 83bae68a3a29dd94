"""What test clients find in answers: errors, and which batches a reader of committed records takes."""

from collections.abc import Iterator
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.batch import BatchHeader, iter_batches


def taken_batches(partition: Any) -> Iterator[tuple[BatchHeader, memoryview | None]]:
    """The batches that a Fetch has of a partition; None in place of markers and of what was aborted."""
    aborted = sorted((txn.first_offset, txn.producer_id) for txn in partition.aborted_transactions or [])
    skipped: set[int] = set()
    data = memoryview(bytes(partition.records or b""))
    for at, header in iter_batches(data):
        while aborted and aborted[0][0] <= header.last_offset:
            skipped.add(aborted.pop(0)[1])
        if header.is_control:
            skipped.discard(header.producer_id)
        is_taken = not header.is_control and not (header.is_transactional and header.producer_id in skipped)
        yield header, data[at : at + header.size_in_bytes] if is_taken else None


def code_of_add(answer: Any) -> int:
    """The first error of AddPartitionsToTxn up to version 3."""
    results = (each for topic in answer.results_by_topic_v3_and_below for each in topic.results_by_partition)
    return int(next((each.partition_error_code for each in results if each.partition_error_code), ErrorCode.NONE))


def code_of_offsets(answer: Any) -> int:
    """Of the one partition of TxnOffsetCommit."""
    return int(answer.topics[0].partitions[0].error_code)

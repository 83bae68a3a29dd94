"""Who holds a partition's last stable offset back: which transactions, since when, and of which producers.

Joins what the partition knows (where transactions begin, and their producers' ids) with what the coordinator does (the
transactional id, the state, the start). A transaction that only the partition knows is a hanging one: nobody will end
it but an operator (KIP-664).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.inspection.logs import log_of
from barnabas.broker.inspection.transactions import every_transaction, is_open
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.context import Services
    from barnabas.broker.coordinator.transaction.model import Transaction
    from barnabas.storage.log.log import PartitionLog

_PIECE = 500  # transactions looked at between two pauses


class Holder(NamedTuple):
    """A transaction that readers of committed records wait for on one partition."""

    first_offset: int
    """Where its records begin there."""
    producer_id: int
    producer_epoch: int
    """The producer's latest on the partition; -1 when the partition has forgotten it."""
    last_timestamp_ms: int
    """Of what the producer wrote last to the partition; -1 as above."""
    has_marker: bool
    """Whether its end is in the log already, and only not shown to readers yet."""
    transaction: Transaction | None
    """What the coordinator knows of it; None when that is nothing."""

    @property
    def is_hanging(self) -> bool:
        """Whether no coordinator will end it."""
        return self.transaction is None and not self.has_marker


def holders(services: Services, topic: str, partition: int) -> Steps[tuple[Holder, ...]]:
    """All transactions below the high watermark that are not decided there, the one the offset waits for first.

    Opens the log. KafkaError as `log_of`, and COORDINATOR_LOAD_IN_PROGRESS while transactions are being loaded; those
    of a partition of `__transaction_state` that cannot be loaded are known to nobody, and look like hanging ones.
    """
    log = log_of(services, topic, partition)
    if log is None:
        return ()
    found = _unstable(log)
    if not found:
        return ()
    owners: dict[int, Transaction] = {}
    for count, txn in enumerate(every_transaction(services), 1):
        if is_open(txn) and (topic, partition) in txn.partitions:
            owners[txn.producer_id] = txn
        if count % _PIECE == 0:
            yield
    still = _unstable(log)  # who ended since the beginning has no owner, and is no hanging transaction
    return tuple(
        _holder(log, first_offset, producer_id, owners.get(producer_id))
        for first_offset, producer_id in found.items()
        if first_offset in still
    )


def _unstable(log: PartitionLog) -> dict[int, int]:
    """First offset -> producer id."""
    return {first: producer for first, producer in log.producers.unstable.items() if first < log.high_watermark}


def _holder(log: PartitionLog, first_offset: int, producer_id: int, txn: Transaction | None) -> Holder:
    producer = log.producers.get(producer_id)
    if producer is None:
        return Holder(first_offset, producer_id, -1, -1, True, txn)
    has_marker = producer.current_txn_first_offset != first_offset
    return Holder(first_offset, producer_id, producer.producer_epoch, producer.last_timestamp, has_marker, txn)

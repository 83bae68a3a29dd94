# compiled: mypyc
"""The values that transactions consist of: stored state, requests and replies.

Plain values with no behaviour beyond reading themselves. A `TransactionMetadata` is durable: built by replay, written
as a record; a decision makes a new one and never changes its input. Nothing here knows the format on disk or on the
wire. -1 stands for "none" wherever Kafka writes it so.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.protocol.errors import ErrorCode

TopicPartition = tuple[str, int]

_ONGOING: Final = TransactionState.ONGOING  # compiled, the look-up of an enum's member takes as long as a call

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_TIMESTAMP = -1
LAST_PRODUCER_EPOCH = 32_767
"""Only written in markers and fences, never given to a producer."""
EXHAUSTED_PRODUCER_EPOCH = LAST_PRODUCER_EPOCH - 1
"""From this epoch on a producer gets a new id instead of a higher epoch."""
NO_TIMEOUT_MS = 2_147_483_647
"""The timeout of a producer that takes part in two-phase commits (KIP-939)."""
EPOCH_BUMP_VERSION = 2
"""From this transaction.version on each end of a transaction raises the epoch: TV2."""


class TransactionConfig(NamedTuple):
    """The broker's configuration for transactions; names and defaults are Kafka's."""

    max_timeout_ms: int = 900_000
    """transaction.max.timeout.ms"""
    expiration_ms: int = 604_800_000
    """transactional.id.expiration.ms"""
    abort_check_interval_ms: int = 10_000
    """transaction.abort.timed.out.transaction.cleanup.interval.ms"""
    remove_check_interval_ms: int = 3_600_000
    """transaction.remove.expired.transaction.cleanup.interval.ms"""
    two_phase_commit_enabled: bool = False
    """transaction.two.phase.commit.enable"""
    partition_verification_enabled: bool = True
    """transaction.partition.verification.enable"""
    add_partitions_retry_backoff_ms: int = 20
    """add.partitions.to.txn.retry.backoff.ms"""
    add_partitions_retry_backoff_max_ms: int = 100
    """add.partitions.to.txn.retry.backoff.max.ms"""


class TransactionMetadata(NamedTuple):
    """A transactional id with its producer and the state of its current, or last, transaction.

    Invariants: `partitions` is empty unless the state is Ongoing or prepared; the pair of producer id and epoch never
    decreases.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    last_update_timestamp_ms: int
    previous_producer_id: int = NO_PRODUCER_ID
    """The id before the current one, if its epochs were exhausted."""
    next_producer_id: int = NO_PRODUCER_ID
    """The id that follows when the prepared transaction is complete: the producer has it already. In Ongoing: the id
    of the producer that kept this transaction."""
    next_producer_epoch: int = NO_PRODUCER_EPOCH
    """The epoch of `next_producer_id`, only for a kept transaction; otherwise a new id begins with 0."""
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    """The epoch before the current one, for the retry after a lost response. In memory only: -1 after a restart."""
    partitions: frozenset[TopicPartition] = frozenset()
    start_timestamp_ms: int = NO_TIMESTAMP
    """When the first partition was added."""
    client_transaction_version: int = 0
    """The protocol of its client: 0 or 1 TV1, 2 TV2."""

    @property
    def is_kept(self) -> bool:
        """Whether a new producer took this open transaction over, only to end it (KIP-939).

        Its markers will have the epoch after the old producer's; requests have the new one's.
        """
        return self.next_producer_epoch != NO_PRODUCER_EPOCH and self.state is _ONGOING

    @property
    def holder(self) -> tuple[int, int]:
        """The id and epoch of the producer that may use this transaction."""
        if self.is_kept:
            return self.next_producer_id, self.next_producer_epoch
        return self.producer_id, self.producer_epoch

    @property
    def successor(self) -> tuple[int, int]:
        """The id and epoch of the holder once a prepared transaction is complete."""
        if self.next_producer_id == NO_PRODUCER_ID:
            return self.producer_id, self.producer_epoch
        return self.next_producer_id, max(self.next_producer_epoch, 0)


def is_exhausted(producer_epoch: int) -> bool:
    """Return whether a producer with this epoch gets a new id instead of the next epoch."""
    return producer_epoch >= EXHAUSTED_PRODUCER_EPOCH


class TransactionStored(NamedTuple):
    """Record: the transaction's new state; None: the id is removed."""

    transactional_id: str
    stored: TransactionMetadata | None


TransactionOutcome = Outcome[TransactionStored, None]


class InitRequest(NamedTuple):
    """InitProducerId of a transactional producer; id and epoch are the producer's last ones, or -1."""

    transactional_id: str
    timeout_ms: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    enable_2pc: bool = False
    keep_prepared: bool = False

    @property
    def is_known_producer(self) -> bool:
        """Whether the producer names its last id."""
        return self.producer_id != NO_PRODUCER_ID


class InitReply(NamedTuple):
    """The id and epoch to use from now on; the ongoing ones belong to a kept transaction."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    ongoing_producer_id: int = NO_PRODUCER_ID
    ongoing_producer_epoch: int = NO_PRODUCER_EPOCH


class AddRequest(NamedTuple):
    """Add partitions to the producer's transaction; the reply is an error code."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    client_transaction_version: int


class EndRequest(NamedTuple):
    """End the producer's transaction; `client_transaction_version` 2 means TV2, lower ones TV1."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    client_transaction_version: int


class EndReply(NamedTuple):
    """The id and epoch for the next transaction, which TV1 ignores."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class Marker(NamedTuple):
    """The marker that is written to every partition of a prepared transaction."""

    producer_id: int
    producer_epoch: int
    is_commit: bool

"""The sink's options, and a task's facts: values that are sent between processes."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_barnabas.cluster.connection import ConnectionSettings

TWO_PHASE = ("auto", "on", "off")
TRANSACTION_TIMEOUT_MS = 900_000  # what brokers allow by default (transaction.max.timeout.ms)
BATCH_BYTES = 512 * 1024
REQUEST_BYTES = 1024 * 1024
DELIVERY_TIMEOUT_MS = 120_000
_ABORT_TIMEOUT_MS = 10_000


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """The sink's options, parsed.

    topic: the topic of rows without a `topic` of their own; None if every row has to have one.
    prefix: the beginning of the sink's transactional ids and its ledger's name; None for "spark-<query id>".
    transaction_timeout_ms: how long a transaction may stay open if two-phase commits are not available; None for as
    long as the brokers allow.
    compression: none, gzip, snappy, lz4 or zstd. batch_bytes: the aim for one record batch (batch.size).
    max_request_bytes: the largest record batch that is sent (max.request.size).
    delivery_timeout_ms: how long the delivery of a record is tried (delivery.timeout.ms).
    group_id: the consumer group for which the source's offsets are committed; None for the prefix, "" for none.
    first_batch: the batch with which the ledger may continue, if those before it had another sink.
    two_phase: KIP-939 if the broker offers it (auto), always (on), never (off).
    batch_header: the name of a header that every record gets, with the batch's id in decimal; None for none.
    max_in_flight: how many requests a task has in flight to one broker.
    creates_topics: whether a missing topic may be created; new_topic_partitions: with how many partitions, None
    for the broker's default.
    """

    connection: ConnectionSettings
    topic: str | None = None
    prefix: str | None = None
    transaction_timeout_ms: int | None = None
    compression: str = "none"
    batch_bytes: int = BATCH_BYTES
    max_request_bytes: int = REQUEST_BYTES
    delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS
    group_id: str | None = None
    is_atomic: bool = False
    first_batch: int = 0
    two_phase: str = "auto"
    batch_header: str | None = None
    max_in_flight: int = 5
    creates_topics: bool = True
    new_topic_partitions: int | None = None

    @property
    def abort_timeout_ms(self) -> int:
        """How long the driver tries to abort: transactions that are left open are found by the next run."""
        return min(_ABORT_TIMEOUT_MS, self.delivery_timeout_ms)

    def prefix_of(self, query_id: str) -> str:
        """Return the prefix of this query's ids and ledger."""
        return self.prefix if self.prefix is not None else f"spark-{query_id.replace(':', '-')}"


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task's facts, from Spark's TaskContext.

    query_id: the query's, which Spark stores in the checkpoint; `batch_query_id` makes one for a batch write.
    run_id: of this start of the query; a batch write generates one. batch_id: 0 for a batch write.
    """

    query_id: str
    run_id: str
    batch_id: int
    partition: int
    attempt_number: int
    task_attempt_id: int
    is_stream: bool = True

"""What the sink's options say, and what a task knows of itself: values that travel between processes."""

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

    topic: where rows without a `topic` of their own go; None where every row has to name its own.
    prefix: what the sink's transactional ids and its ledger begin with; None for "spark-<query id>".
    transaction_timeout_ms: how long a transaction may stay open where two-phase commits are not to be had; None for as
    long as the brokers allow.
    compression: none, gzip, snappy, lz4 or zstd. batch_bytes: the aim for one record batch (batch.size).
    max_request_bytes: the largest record batch that is sent (max.request.size).
    delivery_timeout_ms: how long a record is tried to be delivered (delivery.timeout.ms).
    group_id: the consumer group that the source's offsets are committed for; None for the prefix, "" for none.
    first_batch: the batch that the ledger may go on with, where those before it had another sink.
    two_phase: KIP-939 where the broker offers it (auto), always (on), never (off).
    batch_header: the name of a header that every record gets, with the batch's id in decimal; None for none.
    max_in_flight: how many requests a task has under way to one broker.
    creates_topics: whether a topic that is missing may be made; new_topic_partitions: with how many partitions, None
    for as many as the broker gives it by itself.
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
        """How long the driver tries to abort: whatever is left open is found by the next run."""
        return min(_ABORT_TIMEOUT_MS, self.delivery_timeout_ms)

    def prefix_of(self, query_id: str) -> str:
        """The prefix that this query's ids and ledger have."""
        return self.prefix if self.prefix is not None else f"spark-{query_id.replace(':', '-')}"


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What a task knows of itself, from Spark's TaskContext.

    query_id: the query's, which Spark keeps in the checkpoint; `batch_query_id` makes one for a batch write.
    run_id: of this start of the query; a batch write makes one up. batch_id: 0 for a batch write.
    """

    query_id: str
    run_id: str
    batch_id: int
    partition: int
    attempt_number: int
    task_attempt_id: int
    is_stream: bool = True

"""write(): a task's rows into an open transaction, which it leaves open for the driver.

The task finds its run's token, lets `pyspark_barnabas.commit.writing` decide what to do with its rows, and does it. A
transaction begins with the first row, as an empty one could not be committed.

Invariants: Prepared is returned only when every record is acknowledged; memory does not grow with the rows; a task that
fails aborts the transaction that it began, as no other process knows of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from barnabas.client.client import Client
from barnabas.client.transaction_requests import EXPLICIT, ProducerIdentity, end
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.compression import COMPRESSION_IDS, LIBRARIES, is_available
from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.cluster.first_contact import wait_for_first_contact
from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.identity import RunToken, Sink
from pyspark_barnabas.commit.ledger import LedgerDamaged
from pyspark_barnabas.commit.messages import Message, Prepared, PreparedTransaction, Skipped, WrittenPartition
from pyspark_barnabas.commit.steps import Fail, Produce, SkipAndDrain
from pyspark_barnabas.commit.writing import decide_write
from pyspark_barnabas.sink.encoding.batch_layout import BadRows, BatchLayout
from pyspark_barnabas.sink.error_explanations import explain
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger.access import LedgerAccess
from pyspark_barnabas.sink.opening import open_run
from pyspark_barnabas.sink.settings import SinkSettings, TaskFacts
from pyspark_barnabas.sink.target.topics import TargetTopics
from pyspark_barnabas.sink.transaction.own_ids import OwnIds
from pyspark_barnabas.sink.transaction.task_transaction import TaskTransaction

if TYPE_CHECKING:
    from pyspark_barnabas.sink.encoding.arrow_batches import Encoder
    from pyspark_barnabas.sink.encoding.plain_rows import PlainEncoder

_ABORT_TIMEOUT_MS = 2_000


def write(settings: SinkSettings, task: TaskFacts, batches: Iterator[Any]) -> Message:
    """Write the rows of `batches` (pyarrow.RecordBatch), or only read them if the batch was decided before.

    Return when all records are acknowledged; the transaction stays open for the driver. Raise SinkFailed otherwise.
    """
    client = client_for(settings.connection)
    prefix = settings.prefix_of(task.query_id)
    try:
        timeout_ms = settings.delivery_timeout_ms
        wait_for_first_contact(client, settings.connection, timeout_ms=timeout_ms, option="kafka.delivery.timeout.ms")
        topics = TargetTopics(client, settings, _named(settings))
        access = LedgerAccess(client, prefix, task.query_id, task.batch_id, timeout_ms, along=_named(settings))
        run, ledger = open_run(client, settings, task, access)
        batch = Batch(
            Sink(prefix, task.query_id),
            task.run_id,
            run,
            task.batch_id,
            first_batch=settings.first_batch,
            is_stream=task.is_stream,
            is_atomic=settings.is_atomic,
        )
        step = decide_write(
            batch,
            ledger,
            partition=task.partition,
            attempt_number=task.attempt_number,
            task_attempt=task.task_attempt_id,
            own_ids=(own_ids := OwnIds(access.topic_id, run)),
        )
        match step:
            case Fail(sentence):
                raise SinkFailed(sentence)
            case SkipAndDrain():
                for _ in batches:
                    pass
                return Skipped(task.query_id, task.run_id, run, task.batch_id, task.partition)
            case Produce():
                transaction = TaskTransaction(client, settings, step, lambda name: own_ids.use(name, task.batch_id))
                return _produce(
                    client, settings, task, run, transaction, _encoder(client, settings, task, topics), batches
                )
    except LedgerDamaged as error:
        raise SinkFailed(str(error)) from error
    except KafkaError as error:
        doing = f"writing partition {task.partition} of batch {task.batch_id} of query {task.query_id}"
        raise explain(error, settings, prefix, doing) from error


def _produce(
    client: Client,
    settings: SinkSettings,
    task: TaskFacts,
    run: RunToken,
    transaction: TaskTransaction,
    encoder: Encoder | PlainEncoder,
    batches: Iterator[Any],
) -> Prepared:
    began_ms = client.clock.now_ms()
    try:
        for rows in batches:
            transaction.put(encoder.add(rows))
        transaction.put(encoder.finish())
        transaction.flush()
    except BaseException as error:
        _give_up(client, settings, transaction)
        if isinstance(error, BadRows):
            raise SinkFailed(str(error)) from error
        raise
    identity = transaction.identity
    prepared = None if identity is None else PreparedTransaction(transaction.transactional_id, *identity)
    return Prepared(
        task.query_id,
        task.run_id,
        run,
        task.batch_id,
        task.partition,
        prepared,
        rows=encoder.rows,
        digest=encoder.digest,
        written=tuple(WrittenPartition(*where, number) for where, number in sorted(transaction.next_sequences.items())),
        sent_bytes=transaction.sent_bytes,
        began_ms=began_ms,
        prepared_ms=client.clock.now_ms(),
    )


def _encoder(client: Client, settings: SinkSettings, task: TaskFacts, topics: TargetTopics) -> Encoder | PlainEncoder:
    compression = COMPRESSION_IDS[settings.compression]
    if not is_available(compression):
        raise SinkFailed(
            f"kafka.compression.type {settings.compression} needs a package that is not installed on the host of "
            "this task"
            f" ({LIBRARIES[compression]}): install it on the executors, or use gzip or none"
        )
    header = settings.batch_header
    layout = BatchLayout(
        settings.topic,
        compression,
        min(settings.batch_bytes, settings.max_request_bytes),
        settings.max_request_bytes,
        fixed_headers=() if header is None else ((header, str(task.batch_id).encode()),),
        first_partition=task.partition,
    )
    return encoder_class()(layout, topics.partitions_of, client.clock.now_ms)


def _named(settings: SinkSettings) -> list[str]:
    """Return the sink's topic, which is requested together with the ledger, while Spark makes the rows."""
    return [] if settings.topic is None else [settings.topic]


def encoder_class() -> type[Encoder] | type[PlainEncoder]:
    """Return the column encoder if numpy is installed, and the row encoder otherwise."""
    if find_spec("numpy") is None:
        from pyspark_barnabas.sink.encoding.plain_rows import PlainEncoder

        return PlainEncoder
    from pyspark_barnabas.sink.encoding.arrow_batches import Encoder

    return Encoder


def _give_up(client: Client, settings: SinkSettings, transaction: TaskTransaction) -> None:
    """Release blocked readers; a refusal does not matter, as an undecided transaction is swept later."""
    transaction.close()
    own: ProducerIdentity | None = transaction.identity
    if own is not None and transaction.is_own:
        deadline = client.deadline(min(_ABORT_TIMEOUT_MS, settings.delivery_timeout_ms))
        with suppress(KafkaError):  # it is swept later
            end(client, transaction.transactional_id, own, commit=False, protocol=EXPLICIT, deadline=deadline)

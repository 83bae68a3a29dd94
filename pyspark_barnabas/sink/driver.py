"""commit() and abort(): take the steps that `pyspark_barnabas.commit` asks for, until it says that all is done.

Nothing is remembered from call to call but what the ledger says: a call that was cut off anywhere may be made again,
by this process or another, and comes to the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from barnabas.client.admin.transactions import fence, list_transactions
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import UnsupportedByBroker
from barnabas.client.transaction_requests import ProducerIdentity
from barnabas.client.transactions.sets import end_all, find_transactions
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.transaction_states import ONGOING
from pyspark_barnabas.clients import client_for
from pyspark_barnabas.commit.aborting import decide_abort
from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.committing import CommitView, next_step
from pyspark_barnabas.commit.identity import Sink, task_pattern
from pyspark_barnabas.commit.ledger import LedgerDamaged
from pyspark_barnabas.commit.messages import Author, Message, PreparedTransaction, author
from pyspark_barnabas.commit.standing import View
from pyspark_barnabas.commit.steps import AbortOurs, Decide, Describe, Done, Fail, ListTasks, RollForward, Sweep
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.driver_transaction import Fenced, write_record
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger.access import LedgerAccess
from pyspark_barnabas.sink.sentences import explain
from pyspark_barnabas.sink.settings import SinkSettings

_REFUSALS_MAX = 5
"""How often the coordinators may refuse to end what they say is open, before it is reported."""
_SWEEP_TIMEOUT_MS = 5_000
_ABORT_TIMEOUT_MS = 10_000


def commit(
    settings: SinkSettings,
    batch_id: int,
    messages: Sequence[Message],
    *,
    query_id: str,
    checkpoint: CheckpointOffsets | None = None,
    is_stream: bool = True,
) -> None:
    """Make the batch visible, once, whoever tried before; SinkFailed says why not, and what to do."""
    known = author(messages)
    if known is None:
        raise SinkFailed(f"batch {batch_id} of query {query_id} came without a message of any task: restart the query")
    prefix, client = settings.prefix_of(query_id), client_for(settings.connection)
    try:
        access = LedgerAccess(client, prefix, query_id, batch_id, settings.delivery_timeout_ms)
        batch = _batch(settings, batch_id, known, checkpoint, is_stream=is_stream)
        view = CommitView(access.read(waits=True), tuple(messages), () if checkpoint is None else checkpoint.offsets)
        _Committing(client, settings, batch, access).go_on(view)
    except LedgerDamaged as error:
        raise SinkFailed(str(error)) from error
    except KafkaError as error:
        raise explain(error, settings, prefix, f"committing batch {batch_id} of query {query_id}") from error


def abort(
    settings: SinkSettings,
    batch_id: int,
    messages: Sequence[Message | None],
    *,
    query_id: str,
    checkpoint: CheckpointOffsets | None = None,
    is_stream: bool = True,
) -> None:
    """Throw the batch away, unless it was decided or may be yet. `messages` has None for a task that sent none."""
    known = author(messages)
    if known is None:
        return  # no task got as far as an open transaction that anybody knows of
    prefix, client = settings.prefix_of(query_id), client_for(settings.connection)
    batch = _batch(settings, batch_id, known, checkpoint, is_stream=is_stream)
    timeout_ms = min(_ABORT_TIMEOUT_MS, settings.delivery_timeout_ms)
    deadline = client.deadline(timeout_ms)
    try:
        # Before the ledger is read: while the driver's transaction is open, the decision may be on its way.
        driver = _views(client, [batch.sink.driver_id], deadline)[batch.sink.driver_id]
        access = LedgerAccess(client, prefix, query_id, batch_id, timeout_ms)
        step = decide_abort(batch, driver, access.read(waits=False), messages)
        if isinstance(step, AbortOurs):
            end_all(client, _identities(step.transactions), commit=False, deadline=deadline)
    except LedgerDamaged as error:
        raise SinkFailed(str(error)) from error
    except KafkaError as error:
        raise explain(error, settings, prefix, f"aborting batch {batch_id} of query {query_id}") from error


class _Committing:
    """One call of commit()."""

    def __init__(self, client: Client, settings: SinkSettings, batch: Batch, access: LedgerAccess) -> None:
        self._client = client
        self._settings = settings
        self._batch = batch
        self._access = access
        self._refusals = 0

    def go_on(self, view: CommitView) -> None:
        """One step after the other."""
        while True:
            match next_step(self._batch, view):
                case Done():
                    return
                case Fail(sentence):
                    raise SinkFailed(sentence)
                case Describe(ids):
                    view = replace(view, described={**view.described, **_views(self._client, ids)})
                case Decide() as step:
                    view = self._decide(step, view)
                case RollForward(transactions):
                    self._roll_forward(transactions)
                    view = replace(view, described={})
                case ListTasks():
                    listed = _list_open(self._client, self._batch.sink)
                    driver = _views(self._client, [self._batch.sink.driver_id])[self._batch.sink.driver_id]
                    view = replace(view, listed=listed, driver=driver)
                case Sweep(ids):
                    self._sweep(ids)
                    view = replace(view, is_swept=True)

    def _decide(self, step: Decide, view: CommitView) -> CommitView:
        try:
            write_record(
                self._client,
                self._settings,
                self._access.topic,
                step.record,
                step.offsets,
                prefix=self._batch.sink.prefix,
                timeout_ms=self._settings.delivery_timeout_ms,
            )
        except Fenced:
            return replace(view, is_fenced=True)
        return replace(view, ledger=self._access.read(waits=True))

    def _roll_forward(self, transactions: tuple[PreparedTransaction, ...]) -> None:
        """Commit each. A refusal is reported only when it comes again and again: the next look says what it means."""
        deadline = self._client.deadline(self._settings.delivery_timeout_ms)
        refused = end_all(self._client, _identities(transactions), commit=True, deadline=deadline)
        if not refused:
            return
        self._refusals += 1
        unanswered = next((error for error in refused.values() if error.code.retriable), None)
        if unanswered is not None or self._refusals >= _REFUSALS_MAX:
            error = unanswered or next(iter(refused.values()))
            prefix = self._batch.sink.prefix
            explained = explain(error, self._settings, prefix, f"making batch {self._batch.batch_id} visible")
            raise SinkFailed(f"{explained}. The batch is decided, and the next run makes it visible") from error

    def _sweep(self, ids: Iterable[str]) -> None:
        deadline = self._client.deadline(_SWEEP_TIMEOUT_MS)
        for each in ids:
            if deadline.is_over:
                return  # what is left is swept after another batch
            with suppress(KafkaError):
                fence(self._client, each, deadline)


def _batch(
    settings: SinkSettings, batch_id: int, known: Author, checkpoint: CheckpointOffsets | None, *, is_stream: bool
) -> Batch:
    return Batch(
        Sink(settings.prefix_of(known.query_id), known.query_id),
        known.run_id,
        known.run,
        batch_id,
        checkpoint_hash=None if checkpoint is None else checkpoint.sha256,
        first_batch=settings.first_batch,
        is_stream=is_stream,
        is_atomic=settings.is_atomic,
    )


def _views(client: Client, ids: Iterable[str], deadline: Deadline | None = None) -> dict[str, View | None]:
    return {
        name: None if state is None else View(state.transaction_state, state.producer_id, state.producer_epoch)
        for name, state in find_transactions(client, ids, deadline).items()
    }


def _list_open(client: Client, sink: Sink) -> frozenset[str]:
    """The ids of open transactions, by the prefix's pattern where brokers know patterns; all of them elsewhere."""
    try:
        listed = list_transactions(client, states=[ONGOING], pattern=task_pattern(sink.prefix))
    except UnsupportedByBroker:
        listed = list_transactions(client, states=[ONGOING])
    return frozenset(each.transactional_id for each in listed)


def _identities(transactions: Iterable[PreparedTransaction]) -> dict[str, ProducerIdentity]:
    return {each.transactional_id: ProducerIdentity(each.producer_id, each.producer_epoch) for each in transactions}

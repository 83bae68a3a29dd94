"""commit() and abort(): take the steps that `pyspark_barnabas.commit` returns, until all is done.

Nothing but the ledger is remembered from call to call: a call that was interrupted at any point may be repeated,
by this process or another, with the same result.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from barnabas.client.admin.transactions import fence
from barnabas.client.client import Client
from barnabas.client.transactions.bulk_transactions import end_all, find_transactions
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.log_records.transaction_states import ONGOING
from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.commit.aborting import decide_abort
from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.committing import CommitView, next_step
from pyspark_barnabas.commit.identity import Sink
from pyspark_barnabas.commit.ledger import Decided, LedgerDamaged, LedgerRecord
from pyspark_barnabas.commit.messages import Author, Message, Prepared, PreparedTransaction, author
from pyspark_barnabas.commit.prepared_state import View
from pyspark_barnabas.commit.steps import AbortOurs, Decide, Describe, Done, Fail, ListTasks, RollForward, Sweep
from pyspark_barnabas.reporting.own_log import own_log
from pyspark_barnabas.sink import batch_log
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.error_explanations import explain
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger.access import LedgerAccess
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.transaction.coordinators import identities, list_ids, view_of, views
from pyspark_barnabas.sink.transaction.driver_transaction import Fenced, write_record

_REFUSALS_MAX = 5
"""How often the coordinators may refuse to end transactions that they report as open, before it is an error."""
_SWEEP_TIMEOUT_MS = 5_000


def commit(
    settings: SinkSettings,
    batch_id: int,
    messages: Sequence[Message],
    *,
    query_id: str,
    checkpoint: CheckpointOffsets | None = None,
    is_stream: bool = True,
) -> None:
    """Make the batch visible, once, whatever was tried before; raise SinkFailed with the reason and what to do."""
    known = author(messages)
    if known is None:
        raise SinkFailed(f"batch {batch_id} of query {query_id} came without a message of any task: restart the query")
    prefix, client = settings.prefix_of(query_id), client_for(settings.connection)
    began_ms = client.clock.now_ms()
    try:
        access = LedgerAccess(client, prefix, query_id, batch_id, settings.delivery_timeout_ms)
        batch = _batch(settings, batch_id, known, checkpoint, is_stream=is_stream)
        view = CommitView(access.read(waits=True), tuple(messages), () if checkpoint is None else checkpoint.offsets)
        _Committing(client, settings, batch, access).go_on(view)
        level = logging.INFO if any(isinstance(each, Prepared) for each in messages) else logging.WARNING
        own_log().log(level, "%s", batch_log.describe_batch(batch, messages, began_ms, client.clock.now_ms()))
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
    """Discard the batch, unless it was decided or may be yet. `messages` has None for a task that sent none."""
    known = author(messages)
    if known is None:
        return  # no task opened a transaction that is known here
    prefix, client = settings.prefix_of(query_id), client_for(settings.connection)
    batch = _batch(settings, batch_id, known, checkpoint, is_stream=is_stream)
    timeout_ms = settings.abort_timeout_ms
    deadline = client.deadline(timeout_ms)
    try:
        # Before the ledger is read: while the driver's transaction is open, the decision may be on its way.
        driver = views(client, [batch.sink.driver_id], deadline)[batch.sink.driver_id]
        access = LedgerAccess(client, prefix, query_id, batch_id, timeout_ms)
        step = decide_abort(batch, driver, access.read(waits=False), messages)
        if isinstance(step, AbortOurs):
            end_all(client, identities(step.transactions), commit=False, deadline=deadline)
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
        self._written: list[LedgerRecord] = []
        self._timeouts_ms: dict[str, int] = {}

    def go_on(self, view: CommitView) -> None:
        """Take one step after the other."""
        while True:
            match next_step(self._batch, view):
                case Done():
                    return
                case Fail(sentence):
                    raise SinkFailed(sentence)
                case Describe(ids):
                    view = replace(view, described={**view.described, **self._describe(ids)})
                case Decide() as step:
                    view = self._decide(step, view)
                case RollForward(transactions):
                    _warn(batch_log.describe_recovery(self._batch, view.ledger, transactions))
                    self._roll_forward(transactions)
                    view = replace(view, described={})
                case ListTasks():
                    listed = list_ids(self._client, self._batch.sink.prefix, [ONGOING])
                    driver = views(self._client, [self._batch.sink.driver_id])[self._batch.sink.driver_id]
                    view = replace(view, listed=listed, driver=driver)
                case Sweep(ids):
                    _warn(batch_log.describe_sweep(self._batch, ids))
                    self._sweep(ids)
                    view = replace(view, is_swept=True)

    def _describe(self, ids: Iterable[str]) -> dict[str, View | None]:
        found = find_transactions(self._client, ids)
        self._timeouts_ms |= {name: each.transaction_timeout_ms for name, each in found.items() if each is not None}
        return {name: view_of(each) for name, each in found.items()}

    def _decide(self, step: Decide, view: CommitView) -> CommitView:
        if step.record in self._written:
            raise SinkFailed(
                f"the ledger {self._access.topic} accepted a record of batch {self._batch.batch_id}, but does not "
                "have it: an earlier attempt of this run used its sequence number. Restart the query: this starts a "
                "new run"
            )
        self._written.append(step.record)
        if isinstance(step.record, Decided) and batch_log.is_first(self._batch, view.ledger, step.record):
            own_log().info(
                "%s", batch_log.describe_query(self._batch, self._access.topic, self._timeouts_of(step.record))
            )
        try:
            write_record(
                self._client,
                self._settings,
                self._access.topic,
                step.record,
                step.offsets,
                prefix=self._batch.sink.prefix,
            )
        except Fenced:
            return replace(view, is_fenced=True)
        return replace(view, ledger=self._access.read(waits=True))

    def _timeouts_of(self, record: Decided) -> dict[str, int]:
        """Return how long the batch's transactions may stay open, as their coordinators report it."""
        own = {each.transactional_id for each in record.transactions} or {self._batch.sink.driver_id}
        return {name: ms for name, ms in self._timeouts_ms.items() if name in own}

    def _roll_forward(self, transactions: tuple[PreparedTransaction, ...]) -> None:
        """Commit each. A refusal is only reported if it repeats: the next description shows what it means."""
        deadline = self._client.deadline(self._settings.delivery_timeout_ms)
        refused = end_all(self._client, identities(transactions), commit=True, deadline=deadline)
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
                return  # the rest is swept after another batch
            with suppress(KafkaError):  # it is swept after another batch
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


def _warn(sentence: str) -> None:
    if sentence:
        own_log().warning("%s", sentence)

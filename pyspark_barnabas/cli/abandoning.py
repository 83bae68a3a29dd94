"""`ledger abandon`: ends the transactions of a dead query, as the next run of it would.

It takes the token and registers in the ledger as a run does, so that any run that is still alive under the prefix can
no longer decide anything. Only then does it look at the decisions: the transactions of decided batches are committed,
all other open ones are aborted. Safe to interrupt at any point, and to call again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.client.admin.transactions import fence
from barnabas.client.client import Client
from barnabas.client.produce.new_batch import NewBatch
from barnabas.client.transaction_requests import Initialised, init_producer
from barnabas.client.transactions.bulk_transactions import end_all
from barnabas.protocol.errors import KafkaError
from pyspark_barnabas.cli.formatting import counted, duration
from pyspark_barnabas.cli.inspection import WholeLedger
from pyspark_barnabas.cli.plan import FinishPlan, plan, signs_of_life
from pyspark_barnabas.cli.sink_state import BatchState, Look, batches
from pyspark_barnabas.commit.identity import RunToken, driver_id, rescue_run_id
from pyspark_barnabas.commit.ledger import Decided, LedgerRecord, Run, Settled
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger.topic import ledger_topic
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.transaction.coordinators import identities
from pyspark_barnabas.sink.transaction.driver_transaction import Fenced, write_record
from pyspark_barnabas.sink.transaction.limits import with_timeout

_SECOND_LOOK_MS = 2_000
_TOKEN_TIMEOUT_MS = 60_000
_LOOK_AGAIN_MS = 50


def abandon(
    client: Client, settings: SinkSettings, *, quiet_ms: int, fence_living: bool, say: Callable[[str], None]
) -> None:
    """End the open transactions under settings.prefix. `say` gets a sentence for each thing that was done.

    Raise SinkFailed if a run seems alive, if another run takes over meanwhile, and, after all is done, if part of
    a decided batch is lost.
    """
    ledger = WholeLedger(client, settings.prefix or "")
    seen = ledger.look()
    if not seen.listed and all(each.state is not BatchState.DECIDED for each in batches(seen)):
        say(f"no transaction is open under {seen.prefix}: nothing was changed")
        _report_problems(plan(seen), say)
        return
    if not fence_living:
        refuse_if_alive(client, ledger, seen, quiet_ms)
    _report_problems(Takeover(client, settings, ledger, seen, say).end_what_is_open(), say)


def refuse_if_alive(client: Client, ledger: WholeLedger, seen: Look, quiet_ms: int) -> None:
    """Raise SinkFailed if the second look shows a sign of life."""
    client.clock.sleep(_SECOND_LOOK_MS / 1000)
    signs = signs_of_life(seen, ledger.look(), quiet_ms)
    if signs:
        raise SinkFailed(
            f"a run seems to be alive under {seen.prefix!r}: {', '.join(signs)}. Nothing was changed. Stop the "
            "query, or wait until nothing happens for --quiet-ms. With --fence it is fenced, and fails: another run "
            "took over"
        )


class Takeover:
    """The token of a sink, taken and registered, and the operations that its holder may do.

    is_long: much is written in its transactions, so they stay open for as long as the broker allows.
    """

    def __init__(
        self,
        client: Client,
        settings: SinkSettings,
        ledger: WholeLedger,
        before: Look,
        say: Callable[[str], None],
        *,
        is_long: bool = False,
    ) -> None:
        self._client = client
        self._settings = settings
        self._ledger = ledger
        self._prefix = before.prefix
        self._say = say
        self._sequence = self._timeout_ms = 0
        at_most_ms = None if is_long else _TOKEN_TIMEOUT_MS
        self._token = RunToken(*with_timeout(client, settings, self._initialise, at_most_ms=at_most_ms).identity)
        holder = before.ledger.holder()
        self._run_id = rescue_run_id(self._token)
        self._write(Run("" if holder is None else holder.query_id, self._run_id, self._token))
        say(f"took over {self._prefix} with the token {self._token}: an earlier run cannot decide a batch any more")

    def end_what_is_open(self) -> FinishPlan:
        """Commit what is decided and abort the rest; the returned plan contains what was lost before."""
        todo = plan(self.look())
        if todo.commit:
            self._commit(todo)
        todo = self._plan_once_all_is_ended()
        for each in todo.settled:
            self.settle(each)
        for name in todo.abort:
            self._abort(name)
        left = [each.transactional_id for each in self.look().listed if each.transactional_id in todo.abort]
        if left:
            raise SinkFailed(f"still open, try again: {', '.join(left)}")
        return todo

    def look(self) -> Look:
        """Return the current state, with transactions of earlier runs. Raise SinkFailed if a run took over from us."""
        seen = self._ledger.look(is_driver=True)
        if seen.driver is None or (seen.driver.producer_id, seen.driver.producer_epoch) != self._token:
            raise self._overtaken()
        return seen

    def settle(self, decision: Decided, rows: Iterable[NewBatch] = ()) -> None:
        """Write that all of a batch is committed, in one transaction with the rows that were missing."""
        self._write(Settled(decision.query_id, decision.batch_id, self._run_id, self._token, self._sequence), rows)

    def _initialise(self, timeout_ms: int) -> Initialised:
        self._timeout_ms = timeout_ms
        return init_producer(self._client, driver_id(self._prefix), timeout_ms=timeout_ms)

    def _commit(self, todo: FinishPlan) -> None:
        refused = end_all(self._client, identities(todo.commit), commit=True)
        for each in todo.commit:
            if each.transactional_id not in refused:
                self._say(f"committed {each.transactional_id}, part of a decided batch")
        if refused:
            name, error = next(iter(refused.items()))
            raise SinkFailed(f"{counted(len(refused), 'transaction')} could not be committed, {name}: {error}")

    def _plan_once_all_is_ended(self) -> FinishPlan:
        """Look until no transaction is being ended; return the plan."""
        deadline = self._client.deadline()
        while True:
            todo = plan(self.look())
            if not todo.commit and not todo.is_ending:
                return todo
            if deadline.is_over:
                raise SinkFailed("a decided transaction is committed, but its markers are not written yet: try again")
            self._client.clock.sleep(_LOOK_AGAIN_MS / 1000)

    def _abort(self, name: str) -> None:
        try:
            fence(self._client, name)
        except KafkaError as error:
            raise SinkFailed(f"{name} could not be aborted: {error}") from error
        self._say(f"aborted {name}, not part of a decided batch")

    def _write(self, record: LedgerRecord, rows: Iterable[NewBatch] = ()) -> None:
        began = self._client.clock.monotonic()
        try:
            write_record(
                self._client,
                self._settings,
                ledger_topic(self._prefix),
                record,
                prefix=self._prefix,
                rows=rows,
                is_last=True,
            )
        except Fenced as error:
            took_ms = int((self._client.clock.monotonic() - began) * 1000)
            raise (self._too_slow(took_ms) if self._is_timed_out(took_ms) else self._overtaken()) from error
        self._sequence += 1

    def _is_timed_out(self, took_ms: int) -> bool:
        """Return whether the timeout ended our transaction: it had expired, and no run registered after us."""
        holder = self._ledger.look().ledger.holder()
        return took_ms >= self._timeout_ms and holder is not None and holder.run == self._token

    def _too_slow(self, took_ms: int) -> SinkFailed:
        return SinkFailed(
            f"writing took {duration(took_ms)}, but the brokers abort a transaction that is open for longer than "
            f"{duration(self._timeout_ms)}: nothing of it is visible. Raise transaction.max.timeout.ms of the brokers,"
            " then try again"
        )

    def _overtaken(self) -> SinkFailed:
        return SinkFailed(f"another run took over {self._prefix!r} meanwhile, and continues: nothing is lost")


def _report_problems(todo: FinishPlan, say: Callable[[str], None]) -> None:
    """Report lost and forgotten batches; raise SinkFailed if rows are missing."""
    for each in todo.forgotten:
        say(
            f"the brokers no longer know the transactions of batch {each.batch_id}: it is almost certainly finished. "
            "`recover` checks the log"
        )
    if todo.lost:
        decision, transaction = todo.lost[0]
        raise SinkFailed(
            f"batch {decision.batch_id} of query {decision.query_id} is decided ({decision.rows} rows), but its"
            f" transaction {transaction.transactional_id!r} was aborted before: part of the batch is missing from its"
            " topics. `recover` writes them again, if the log still has them"
        )

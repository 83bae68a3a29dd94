"""How a task gets its run's token: takes the steps that `pyspark_barnabas.commit.opening` returns."""

from __future__ import annotations

from dataclasses import replace

from barnabas.client.client import Client
from barnabas.client.transaction_requests import EndUnanswered, Initialised, init_producer
from pyspark_barnabas.commit.identity import RunToken, Sink
from pyspark_barnabas.commit.ledger import Ledger
from pyspark_barnabas.commit.opening import Opening, OpeningView, next_step
from pyspark_barnabas.commit.steps import Fail, ReadLedger, Register, TakeToken, UseToken, Wait
from pyspark_barnabas.reporting.own_log import own_log
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger.access import LedgerAccess
from pyspark_barnabas.sink.settings import SinkSettings, TaskFacts
from pyspark_barnabas.sink.transaction.driver_transaction import Fenced, write_record
from pyspark_barnabas.sink.transaction.limits import with_timeout

_DECISION_TIMEOUT_MS = 60_000


def open_run(client: Client, settings: SinkSettings, task: TaskFacts, access: LedgerAccess) -> tuple[RunToken, Ledger]:
    """Return the run's token, and the ledger that contains it. Raise SinkFailed if another run took over."""
    opening = Opening(Sink(settings.prefix_of(task.query_id), task.query_id), task.run_id, task.partition)
    view, began = OpeningView(), client.clock.monotonic()
    unanswered_since: float | None = None

    def since(begin: float) -> int:
        return int((client.clock.monotonic() - begin) * 1000)

    while True:
        unanswered_ms = None if unanswered_since is None else since(unanswered_since)
        view = replace(view, waited_ms=since(began), unanswered_ms=unanswered_ms)
        match next_step(opening, view):
            case UseToken(run):
                assert view.ledger is not None, "the token is in it"
                return run, view.ledger
            case Fail(sentence):
                raise SinkFailed(sentence)
            case ReadLedger():
                waits = view.taken is not None and unanswered_since is None
                view = replace(view, ledger=access.read(waits=waits))
            case TakeToken(transactional_id):
                unanswered_since = None
                view = replace(view, ledger=None, taken=_take_token(client, settings, transactional_id))
            case Register(record):
                try:
                    prefix = opening.sink.prefix
                    write_record(client, settings, access.topic, record, prefix=prefix, is_end_repeated=False)
                    view = replace(view, ledger=None, is_registered=True)
                except EndUnanswered as error:
                    own_log().warning("it is not known whether run %s is registered: %s", task.run_id, error)
                    view, unanswered_since = replace(view, ledger=None), client.clock.monotonic()
                except Fenced:
                    view = replace(view, ledger=None, is_fenced=True)
            case Wait(ms):
                client.clock.sleep(ms / 1000)
                view = replace(view, ledger=None)


def _take_token(client: Client, settings: SinkSettings, transactional_id: str) -> RunToken:
    deadline = client.deadline(settings.delivery_timeout_ms)
    at_most_ms = None
    if not settings.is_atomic:
        # It is open for as long as the decision takes; a transaction left open blocks tools that measure lag.
        # Offsets, record and end are each retried for that long.
        at_most_ms = max(_DECISION_TIMEOUT_MS, 3 * settings.delivery_timeout_ms)

    def begin(timeout_ms: int) -> Initialised:
        return init_producer(client, transactional_id, timeout_ms=timeout_ms, deadline=deadline)

    return RunToken(*with_timeout(client, settings, begin, at_most_ms=at_most_ms).identity)

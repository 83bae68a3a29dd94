"""Transactions: all transactional ids, and one of them with its history, its waiting consumers, and a way to end it."""

from __future__ import annotations

from asyncio import Future
from typing import TYPE_CHECKING, Any

from barnabas.broker.coordinator.transaction.decisions.model import InitRequest, TransactionMetadata
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import Action, ConsolePage, Facts
from barnabas.broker.http.console.pages import event_history
from barnabas.broker.http.console.pages.changes.producing import TRANSACTIONAL_ID
from barnabas.broker.http.console.params import CONFLICT, NOT_FOUND, Refused, RequestParams
from barnabas.broker.http.console.queries import transactions as looking
from barnabas.broker.http.console.rendering import url
from barnabas.broker.http.console.sorting import Keys, sorting_of
from barnabas.broker.http.console.svg.timeline import WIDTH, timeline
from barnabas.broker.insight.inspection.groups import begin_loading, groups_in_transaction
from barnabas.broker.insight.inspection.transactions import ended
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.services import Services

_log = logger("control")
ROWS_MAX = 100
_HOLDS_IN_A_ROW = 10
_HOLDS_MAX = 100
_ENDING = (ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS)
"""Answers of InitProducerId when it has begun to abort: success, or a request to retry."""


async def _list(observed: ConsoleContext, params: RequestParams) -> Facts:
    services, now_ms = observed.services, observed.now_ms
    which, needle = params.one_of("which", "all", "open"), params.word("q")
    sorting = sorting_of(params, "/transactions", _KEYS, which=which, q=needle)
    begin_loading(services)
    every = await observed.in_turns(lambda: looking.every_id(services))
    open_ones = [txn for txn in every if txn.state.is_open]
    shown = [txn for txn in (open_ones if which == "open" else every) if needle in txn.transactional_id]
    return {
        "which": which,
        "needle": needle,
        "sorting": sorting,
        "rows": [_row(services, txn, now_ms) for txn in sorting.applied(shown, _KEYS)[:ROWS_MAX]],
        "left_out": max(0, len(shown) - ROWS_MAX),
        "ids": len(every),
        "open_count": len(open_ones),
        "ended": ended(services),
    }


_KEYS: Keys[TransactionMetadata] = {
    "id": lambda txn: txn.transactional_id,
    "state": lambda txn: txn.state.value,
    "producer": lambda txn: (txn.producer_id, txn.producer_epoch),
    "age": lambda txn: -txn.start_timestamp_ms if _is_running(txn) else None,
    "timeout": lambda txn: txn.start_timestamp_ms + txn.timeout_ms if txn.state is TransactionState.ONGOING else None,
    "partitions": lambda txn: len(txn.partitions),
}


def _is_running(txn: TransactionMetadata) -> bool:
    return txn.state.is_open and txn.start_timestamp_ms >= 0


def _row(services: Services, txn: TransactionMetadata, now_ms: int) -> Facts:
    is_open = txn.state.is_open
    holds = list(looking.holds(services, txn, _HOLDS_IN_A_ROW)) if is_open else []
    return _standing(txn, now_ms) | {
        "partitions": len(txn.partitions),
        "groups": sorted(groups_in_transaction(services, txn.producer_id)) if is_open else [],
        "held_back": sum(hold.held_back for hold in holds if hold.is_first),
        "waiting": sum(hold.waiting for hold in holds),
    }


def _standing(txn: TransactionMetadata, now_ms: int) -> Facts:
    left_ms = looking.until_timeout_ms(txn, now_ms)
    return {
        "txn": txn,
        "state": txn.state.value,
        "kind": _kind(txn),
        "age_ms": now_ms - txn.start_timestamp_ms if _is_running(txn) else None,
        "left_ms": left_ms,
        "left_share": None if left_ms is None else round(100 * max(0, min(1, left_ms / max(1, txn.timeout_ms))), 1),
    }


def _kind(txn: TransactionMetadata) -> str:
    if txn.state.is_prepared:
        return "prepared"
    match txn.state:
        case TransactionState.ONGOING:
            return "open"
        case TransactionState.COMPLETE_COMMIT:
            return "committed"
        case TransactionState.COMPLETE_ABORT:
            return "aborted"
    return "empty"


async def _one(observed: ConsoleContext, params: RequestParams) -> Facts:
    services, now_ms = observed.services, observed.now_ms
    transactional_id = params.needed("id")
    begin_loading(services)
    changes = await observed.in_turns(lambda: looking.history(services, transactional_id))
    happened = await event_history.of_transactional_id(observed, transactional_id)
    txn = looking.find(services, transactional_id)  # the rest is of one instant
    if txn is None and not changes:
        raise Refused(f"there is no transactional id {transactional_id}", NOT_FOUND)
    holds = list(looking.holds(services, txn, _HOLDS_MAX)) if txn is not None and txn.state.is_open else []
    facts: dict[str, Any] = {"txn": None} if txn is None else _standing(txn, now_ms)
    groups = sorted(groups_in_transaction(services, txn.producer_id)) if txn is not None else []
    return facts | {
        "id": transactional_id,
        "own_id": TRANSACTIONAL_ID,
        "holds": holds,
        "places": sorted(txn.partitions) if txn is not None else [],
        "groups": groups,
        "line": timeline(changes, now_ms),
        "width": WIDTH,
        "abort": looking.what_abort_does(txn, holds, groups) if txn is not None else [],
        "why": await event_history.why(
            lambda why: why.producer(transactional_id), observed, url("/transaction", id=transactional_id)
        ),
        "happened": happened,
        "happened_max": event_history.SHOWN_MAX,
    }


async def _abort(observed: ConsoleContext, params: RequestParams) -> str:
    """Abort as `barnabas txn abort` does: InitProducerId for the id fences its producer and ends the transaction.

    Return the page where the button stood.
    """
    services = observed.services
    transactional_id = params.needed("id")
    producer = params.number("producer_id", -1), params.number("producer_epoch", -1)
    txn = looking.find(services, transactional_id)
    if txn is None:
        raise Refused(f"there is no transactional id {transactional_id}", NOT_FOUND)
    if txn.state is not TransactionState.ONGOING or txn.holder != producer:
        raise Refused("the transaction on the page has ended: nothing was aborted", CONFLICT)
    coordinator = services.transactions_of(transactional_id)
    reply = coordinator.init_producer_id(InitRequest(transactional_id, txn.timeout_ms))
    answer = await reply if isinstance(reply, Future) else reply
    if answer.error not in _ENDING:
        raise Refused(f"the coordinator refused: {answer.error.name}", CONFLICT)
    _log.info(line("transaction aborted by hand", transactional_id=transactional_id, producer_id=txn.producer_id))
    return params.back(url("/transaction", id=transactional_id))


PAGES = (
    ConsolePage("/console/transactions", "transactions.html", _list),
    ConsolePage("/console/transaction", "transaction.html", _one),
)
ACTIONS = (Action("/console/transaction/abort", _abort),)

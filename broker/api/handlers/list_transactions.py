"""ListTransactions (key 66), v0-2: the transactional ids, with optional filters by state, producer id, age and pattern.

All partitions of `__transaction_state` have to be loaded for it; while one is still loading, the whole answer is
COORDINATOR_LOAD_IN_PROGRESS. One that cannot be loaded is left out, as in Kafka. State filters are exact names; unknown
names are returned, and if all are unknown nothing is listed. The age counts from the start of the transaction, so an id
that never had one has the greatest age. Versions: 1 the age; 2 the pattern, in RE2's syntax, which has to match the
whole id.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.runtime.patterns import InvalidPattern, Pattern, compile_pattern
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.protocol.messages.list_transactions import TransactionState as ListedTransaction
from barnabas.storage.steps import Steps

_STATES = {state.value for state in TransactionState}
_ALL_IDS = WorkClass(steps_max=500, slice_ms=5)  # some 10 us each where one is matched against a pattern


def handle(
    request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse | Future[ListTransactionsResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _list_all(request, context), _ALL_IDS),
        lambda response: once_synced(response, context.services.transactions.unsynced()),
    )


def _list_all(request: ListTransactionsRequest, context: RequestContext) -> Steps[ListTransactionsResponse]:
    transactions = context.services.transactions.transactions()
    pattern = _pattern(request.transactional_id_pattern)
    now_ms = context.services.clock.now_ms()
    listed = []
    for txn in transactions:
        if _is_wanted(txn, request, now_ms) and (pattern is None or pattern.matches(txn.transactional_id)):
            listed.append(
                ListedTransaction(
                    transactional_id=txn.transactional_id,
                    producer_id=txn.producer_id,
                    transaction_state=txn.state.value,
                )
            )
        yield
    return ListTransactionsResponse(
        error_code=ErrorCode.NONE,
        unknown_state_filters=[name for name in dict.fromkeys(request.state_filters) if name not in _STATES],
        transaction_states=listed,
    )


def _pattern(text: str | None) -> Pattern | None:
    """Return the pattern, None if every id matches. Raise KafkaError INVALID_REGULAR_EXPRESSION if it is invalid."""
    if not text:
        return None
    try:
        return compile_pattern(text)
    except InvalidPattern as invalid:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"Transaction ID pattern '{text}' is invalid: {invalid}"
        ) from invalid


def _is_wanted(txn: TransactionMetadata, request: ListTransactionsRequest, now_ms: int) -> bool:
    return (
        (not request.state_filters or txn.state.value in request.state_filters)
        and (not request.producer_id_filters or txn.producer_id in request.producer_id_filters)
        and (request.duration_filter < 0 or now_ms - txn.start_timestamp_ms > request.duration_filter)
    )

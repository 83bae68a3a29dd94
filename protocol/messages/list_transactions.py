"""ListTransactions (key 66), versions 0 to 2, flexible: the transactions of a coordinator.

Versions: 1 filter by how long they run; 2 filter by a pattern of the transactional id.
"""

from barnabas.protocol.codec.schema import INT16, INT32, INT64, STRING, Request, Response, Struct, array, field


class ListTransactionsRequest(Request, key=66, versions="0-2", flexible="0+"):
    state_filters: list[str] = field(array(STRING))
    producer_id_filters: list[int] = field(array(INT64))
    duration_filter: int = field(INT64, versions="1+", default=-1)
    transactional_id_pattern: str | None = field(STRING, versions="2+", nullable="2+", default=None)


class TransactionState(Struct):
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    transaction_state: str = field(STRING)


class ListTransactionsResponse(Response, key=66, versions="0-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    unknown_state_filters: list[str] = field(array(STRING))
    transaction_states: list[TransactionState] = field(array(TransactionState))

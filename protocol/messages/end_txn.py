"""EndTxn (key 26), versions 0 to 5, flexible from 3: commit or abort a transaction.

Versions: 2 PRODUCER_FENCED may be answered; 4 TRANSACTION_ABORTABLE; 5 every end raises the epoch, and the answer
carries the producer id and epoch to go on with (KIP-890).
"""

from barnabas.protocol.codec.schema import BOOL, INT16, INT32, INT64, STRING, Request, Response, field


class EndTxnRequest(Request, key=26, versions="0-5", flexible="3+"):
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    committed: bool = field(BOOL)  # false: abort


class EndTxnResponse(Response, key=26, versions="0-5", flexible="3+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, versions="5+", default=-1, ignorable=True)  # to go on with; -1 on error
    producer_epoch: int = field(INT16, versions="5+", default=-1, ignorable=True)  # to go on with; -1 on error

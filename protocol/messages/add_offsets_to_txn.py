"""AddOffsetsToTxn (key 25), versions 0 to 4, flexible from 3: let a transaction commit offsets of a group.

Adds the partition of the group's offsets to the transaction. Clients of the newer transaction protocol skip it.
"""

from barnabas.protocol.codec.schema import INT16, INT32, INT64, STRING, Request, Response, field


class AddOffsetsToTxnRequest(Request, key=25, versions="0-4", flexible="3+"):
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    group_id: str = field(STRING)


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)

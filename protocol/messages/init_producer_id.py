"""InitProducerId (key 22), versions 0 to 6, flexible from 2: get a producer id and epoch, fencing the producer that
had the transactional id before.

Without a transactional id: a fresh id, epoch 0. With one: its id, and an epoch no earlier producer has.

Versions: 3 the present id and epoch are sent along, so that a producer can go on after an error (KIP-360);
4 PRODUCER_FENCED may be answered; 5 TRANSACTION_ABORTABLE; 6, unstable in this release, two-phase commit (KIP-939).
"""

from barnabas.protocol.codec.schema import BOOL, INT16, INT32, INT64, STRING, Request, Response, field


class InitProducerIdRequest(Request, key=22, versions="0-6", flexible="2+"):
    transactional_id: str | None = field(STRING, nullable="0+")  # null: idempotence only
    transaction_timeout_ms: int = field(INT32)  # after this long an open transaction is aborted
    producer_id: int = field(INT64, versions="3+", default=-1)  # the id held so far; -1: none
    producer_epoch: int = field(INT16, versions="3+", default=-1)  # the epoch held so far; -1: none
    enable2_pc: bool = field(BOOL, versions="6+", default=False)
    keep_prepared_txn: bool = field(BOOL, versions="6+", default=False)


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, default=-1)  # -1 on error
    producer_epoch: int = field(INT16)
    ongoing_txn_producer_id: int = field(INT64, versions="6+", default=-1)
    ongoing_txn_producer_epoch: int = field(INT16, versions="6+", default=-1)

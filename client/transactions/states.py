"""The permitted calls of a transactional producer by its state. Pure.

    NEW ──init──► READY ──begin──► OPEN ──commit, abort──► READY
                                    │                        ▲
                                    │ an error that abort    │ abort
                                    │ cures                  │
                                    └──────► ABORT_ONLY ─────┘

While the response to a commit or an abort is outstanding the producer is COMMITTING or ABORTING: if it does not come
in time, only the same call may be repeated, because the broker's action is unknown. DEAD is final: fenced, or refused.
"""

from __future__ import annotations

from enum import Enum


class TransactionalProducerState(Enum):
    """The state of a transactional producer."""

    NEW = "not initialised"
    READY = "outside of a transaction"
    OPEN = "in a transaction"
    ABORT_ONLY = "in a transaction that failed and must be aborted"
    COMMITTING = "in a commit with an unknown outcome"
    ABORTING = "in an abort with an unknown outcome"
    DEAD = "done for"


_MAY = {
    "init": {TransactionalProducerState.NEW},
    "begin": {TransactionalProducerState.READY},
    "send": {TransactionalProducerState.OPEN},
    "commit": {TransactionalProducerState.OPEN, TransactionalProducerState.COMMITTING},
    "abort": {
        TransactionalProducerState.OPEN,
        TransactionalProducerState.ABORT_ONLY,
        TransactionalProducerState.ABORTING,
    },
}


class NotNow(RuntimeError):
    """The call is not permitted in the producer's state: an error in the program."""


def check(call: str, state: TransactionalProducerState) -> None:
    """Raise NotNow unless `call` (init, begin, send, commit or abort) is permitted."""
    if state not in _MAY[call]:
        raise NotNow(f"cannot {call}: the producer is {state.value}")

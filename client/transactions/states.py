"""What a transactional producer may be asked to do, and when. Pure.

    NEW ──init──► READY ──begin──► OPEN ──commit, abort──► READY
                                    │                        ▲
                                    │ an error that abort    │ abort
                                    │ cures                  │
                                    └──────► ABORT_ONLY ─────┘

While the answer to a commit or an abort is outstanding the producer is COMMITTING or ABORTING: when it does not come in
time, the same call may be made again and no other, for nobody knows what the broker did. DEAD is for good: fenced, or
refused.
"""

from __future__ import annotations

from enum import Enum


class ProducerState(Enum):
    """The state of a transactional producer."""

    NEW = "not initialised"
    READY = "outside of a transaction"
    OPEN = "in a transaction"
    ABORT_ONLY = "in a transaction that failed and has to be aborted"
    COMMITTING = "in a commit whose outcome is not known"
    ABORTING = "in an abort whose outcome is not known"
    DEAD = "done for"


_MAY = {
    "init": {ProducerState.NEW},
    "begin": {ProducerState.READY},
    "send": {ProducerState.OPEN},
    "commit": {ProducerState.OPEN, ProducerState.COMMITTING},
    "abort": {ProducerState.OPEN, ProducerState.ABORT_ONLY, ProducerState.ABORTING},
}


class NotNow(RuntimeError):
    """The call makes no sense where the producer stands: the program's mistake."""


def check(call: str, state: ProducerState) -> None:
    """NotNow unless `call` (init, begin, send, commit or abort) may be made."""
    if state not in _MAY[call]:
        raise NotNow(f"cannot {call}: the producer is {state.value}")

"""The state of a prepared transaction, from the answer of DescribeTransactions about its id.

Under the newer protocol (KIP-890) a transaction's end raises the epoch, and at the last epoch it returns a new producer
id: so an ended transaction may be shown under the epoch after its own, or as epoch 0 of another producer. An id that
has changed further proves nothing: the client that changed it may have aborted the transaction.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from pyspark_barnabas.commit.messages import PreparedTransaction

LAST_USED_EPOCH = 32766  # 32767 is only found in markers


class View(NamedTuple):
    """A coordinator's description of a transactional id."""

    state: str
    producer_id: int
    producer_epoch: int


class PreparedState(Enum):
    """The state of a transaction that a task prepared."""

    OPEN = "open, and exactly as it was prepared"
    COMMITTED = "committed, or about to be"
    ABORTED = "aborted"
    UNKNOWN = "unknown: its id was used again, or has expired"


_ENDED = {
    "PrepareCommit": PreparedState.COMMITTED,
    "CompleteCommit": PreparedState.COMMITTED,
    "PrepareAbort": PreparedState.ABORTED,
    "PrepareEpochFence": PreparedState.ABORTED,
    "CompleteAbort": PreparedState.ABORTED,
}


def prepared_state(transaction: PreparedTransaction, view: View | None) -> PreparedState:
    """Return the state of the transaction; `view` is None if no coordinator knows the id."""
    if view is None:
        return PreparedState.UNKNOWN
    is_same_producer = view.producer_id == transaction.producer_id
    past_its_own = view.producer_epoch - transaction.producer_epoch
    if view.state == "Ongoing":
        return PreparedState.OPEN if is_same_producer and past_its_own == 0 else PreparedState.UNKNOWN
    has_rolled_over = (
        not is_same_producer and view.producer_epoch == 0 and transaction.producer_epoch >= LAST_USED_EPOCH
    )
    if (is_same_producer and past_its_own in (0, 1)) or has_rolled_over:
        return _ENDED.get(view.state, PreparedState.UNKNOWN)
    return PreparedState.UNKNOWN

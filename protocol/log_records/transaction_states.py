"""The states of a transaction with their names in ListTransactions and DescribeTransactions, and the open ones.

A transaction is open from its first partition until its last marker is written: until then readers of committed
records may have to wait for it.
"""

EMPTY = "Empty"
ONGOING = "Ongoing"
PREPARE_COMMIT = "PrepareCommit"
PREPARE_ABORT = "PrepareAbort"
COMPLETE_COMMIT = "CompleteCommit"
COMPLETE_ABORT = "CompleteAbort"
DEAD = "Dead"
PREPARE_EPOCH_FENCE = "PrepareEpochFence"

PREPARED_STATES = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
"""The end is decided but not yet completed."""

OPEN_STATES = PREPARED_STATES | {ONGOING}

NO_TIMEOUT_MS = 0x7FFFFFFF
"""The timeout shown for a transaction of two-phase commits (KIP-939), which has none."""

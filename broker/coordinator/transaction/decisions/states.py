"""The states of a transaction, and the meaning of each event in each of them.

                 partitions added                 EndTxn commits                 all markers written
    Empty ─────────────────────────► Ongoing ────────────────────► PrepareCommit ──────────────────► CompleteCommit
      │ ▲                              ▲  │                                                               │
      │ │                              │  │  EndTxn aborts, timed out, fenced              all markers    │
      │ │                              │  └──────────────────────────► PrepareAbort ───────────────► CompleteAbort
      │ │                              │                                    ▲     written                 │
      │ │ InitProducerId               │ partitions added                   │ EndTxn aborts nothing (TV2) │
      │ └──────────────────────────────┴────────────────────────────────────┴── from both Complete states ┘
      ▼ expired, as from both Complete states
    Dead

An empty abort goes from Empty to PrepareAbort too. Every state but the last two is durable, and each transition is a
record in the log. No transaction is ever in Dead, since an expired id leaves a tombstone and is forgotten, nor in
PrepareEpochFence, since fencing a transaction and preparing its abort are one decision here; both keep their names and
numbers, which clients may filter by.

TV1 is the protocol of EndTxn v0-4, under which an epoch lasts as long as its producer; under TV2 (EndTxn v5, KIP-890)
each end of a transaction raises it, so that an end is either *current* (of the stored epoch) or a *retry* (of the
previous one, whose response was lost). While a transaction is prepared every request gets the error to wait: in Kafka
its completion is pending from the moment of the preparation, and pending transactions get this error.

Four kinds of meaning: `Go` (the transaction moves, maybe to the same state, and a record is written), `Proceed` (served
without a change), `Say` (the client's mistake, or something it has to wait for), and `Never` (our own bug: asserted,
never a reply). The table is total; a test compares its keys with TransactionState x TransactionEvent.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from barnabas.broker.coordinator.runtime.transitions import Go, Meaning, Never, Proceed, Say
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records.transaction_states import OPEN_STATES, PREPARED_STATES


class TransactionState(Enum):
    """The states of a transaction. The value is the name that ListTransactions and DescribeTransactions use."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    __hash__ = object.__hash__  # states are compared by identity; Enum's own hash is slow, and used often

    def __init__(self, name: str) -> None:
        self.id = len(type(self).__members__)
        """The number of the state on disk, 0-7."""
        self.is_prepared = name in PREPARED_STATES
        """Whether the end is decided and not yet carried out."""
        self.is_open = name in OPEN_STATES
        """Whether read_committed readers may have to wait for the end."""


class TransactionEvent(Enum):
    """An event that a transaction can receive."""

    __hash__ = object.__hash__  # for the same reason

    INITIALISED = "InitProducerId: a producer starts, or starts again"
    INITIALISED_KEEPING = "InitProducerId that keeps a prepared transaction (KIP-939)"
    ADDED = "partitions are added"
    VERIFIED = "partitions are verified"
    COMMITTED = "EndTxn commits, TV1"
    ABORTED = "EndTxn aborts, TV1"
    COMMITTED_CURRENT = "EndTxn commits with the stored epoch, TV2"
    COMMITTED_RETRY = "EndTxn commits with the epoch before the stored one, TV2"
    ABORTED_CURRENT = "EndTxn aborts with the stored epoch, TV2"
    ABORTED_RETRY = "EndTxn aborts with the epoch before the stored one, TV2"
    FENCED = "the transaction was open for too long, or another producer begins"
    MARKED = "every partition has its marker"
    EXPIRED = "the id was not used for long"


Cell: TypeAlias = Meaning[TransactionState]

_EMPTY, _ONGOING = Go(TransactionState.EMPTY), Go(TransactionState.ONGOING)
_COMMIT, _ABORT = Go(TransactionState.PREPARE_COMMIT), Go(TransactionState.PREPARE_ABORT)
_DONE_COMMIT, _DONE_ABORT = Go(TransactionState.COMPLETE_COMMIT), Go(TransactionState.COMPLETE_ABORT)
_DEAD = Go(TransactionState.DEAD)
_SERVE = Proceed()
_WAIT = Say(ErrorCode.CONCURRENT_TRANSACTIONS)
_WRONG = Say(ErrorCode.INVALID_TXN_STATE)
_FENCED = Say(ErrorCode.PRODUCER_FENCED)
_CLOSED = Never("only an open transaction is aborted by the coordinator")
_UNDECIDED = Never("markers are only written for a prepared transaction")
_IN_USE = Never("an unfinished transaction does not expire")
_UNSEEN = Never("no transaction is ever in this state")

_ROWS: dict[TransactionEvent, tuple[Cell, Cell, Cell, Cell, Cell, Cell]] = {
    #                                                              Prepare       Prepare      Complete    Complete
    #                                      Empty       Ongoing     Commit        Abort        Commit      Abort
    TransactionEvent.INITIALISED:         (_EMPTY,     _ABORT,     _WAIT,        _WAIT,       _EMPTY,     _EMPTY),
    TransactionEvent.INITIALISED_KEEPING: (_EMPTY,     _ONGOING,   _WAIT,        _WAIT,       _EMPTY,     _EMPTY),
    TransactionEvent.ADDED:               (_ONGOING,   _ONGOING,   _WAIT,        _WAIT,       _ONGOING,   _ONGOING),
    TransactionEvent.VERIFIED:            (_SERVE,     _SERVE,     _WAIT,        _WAIT,       _SERVE,     _SERVE),
    TransactionEvent.COMMITTED:           (_WRONG,     _COMMIT,    _WAIT,        _WAIT,       _SERVE,     _WRONG),
    TransactionEvent.ABORTED:             (_WRONG,     _ABORT,     _WAIT,        _WAIT,       _WRONG,     _SERVE),
    TransactionEvent.COMMITTED_CURRENT:   (_WRONG,     _COMMIT,    _WAIT,        _WAIT,       _WRONG,     _WRONG),
    TransactionEvent.COMMITTED_RETRY:     (_FENCED,    _FENCED,    _WAIT,        _WAIT,       _SERVE,     _WRONG),
    TransactionEvent.ABORTED_CURRENT:     (_ABORT,     _ABORT,     _WAIT,        _WAIT,       _ABORT,     _ABORT),
    TransactionEvent.ABORTED_RETRY:       (_FENCED,    _FENCED,    _WAIT,        _WAIT,       _WRONG,     _SERVE),
    TransactionEvent.FENCED:              (_CLOSED,    _ABORT,     _CLOSED,      _CLOSED,     _CLOSED,    _CLOSED),
    TransactionEvent.MARKED:              (_UNDECIDED, _UNDECIDED, _DONE_COMMIT, _DONE_ABORT, _UNDECIDED, _UNDECIDED),
    TransactionEvent.EXPIRED:             (_DEAD,      _IN_USE,    _IN_USE,      _IN_USE,     _DEAD,      _DEAD),
}  # fmt: skip  # a table

TABLE: dict[tuple[TransactionState, TransactionEvent], Cell] = {
    (state, event): meaning
    for event, row in _ROWS.items()
    for state, meaning in zip(TransactionState, (*row, _UNSEEN, _UNSEEN), strict=True)
}

LEGAL_TRANSITIONS = frozenset(
    (state, meaning.state) for (state, _), meaning in TABLE.items() if isinstance(meaning, Go)
)
"""Every (before, after) that two consecutive records of one id may have; Dead stands for a tombstone."""

"""The states of a batch, derived from what can be seen of it, and what each caller does in each of them.

              all transactions are        the ledger has the         every transaction
              open, and ours              batch, committed           is committed
    New ───────────────────► Prepared ───────────────────► Decided ───────────────► Visible
     │                          │          the commit          │
     └──────────► Broken ◄──────┘             point            └──────► Lost
           one is not ours any more                  one was aborted: its timeout, or an operator

Left of the commit point nothing is visible and everything may be thrown away; right of it nothing may, by any caller
and at any time. None of this is stored: each caller derives the state again from the ledger and the coordinators, so
that a retry, another process and the run after a crash see the same.

Besides: Contradicted, if the ledger and the checkpoint contradict each other; Fenced, if another run took over;
Pending, if the transaction that decides is open or its end is not known, so that the batch may still be decided.

Answers: `Do` (the step), `Refuse` (a failure with a sentence). The table is total; a test compares its keys. No caller
sees every state, as a task describes no transaction; the answers are safe for any caller.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class CommitState(Enum):
    """The known state of a batch."""

    NEW = "not decided, its transactions not checked yet"
    PREPARED = "not decided; every transaction is open and as its task left it"
    BROKEN = "not decided; a transaction is no longer open as its task left it"
    PENDING = "not decided, but the transaction that would decide it is still open"
    DECIDED = "decided; its transactions not checked yet, or still open"
    VISIBLE = "decided, and every transaction is committed"
    LOST = "decided, but a transaction is not committed and never will be"
    CONTRADICTED = "the ledger and the checkpoint contradict each other"
    FENCED = "another run took over"


class Call(Enum):
    """The caller."""

    WRITE = "a task is about to write its rows"
    COMMIT = "the driver commits the batch: for the first time, or again after a failure"
    ABORT = "the driver learns that the batch failed, maybe after it was decided"


class Act(Enum):
    """The next step."""

    PRODUCE = "write the rows in its own transaction"
    SKIP_AND_DRAIN = "read the rows and write nothing"
    DESCRIBE = "check the transactions"
    DECIDE = "write the decision into the ledger, with the source's offsets"
    ROLL_FORWARD = "commit the open transactions"
    FINISH = "settle and sweep"
    ABORT_OURS = "abort the transactions of this batch's tasks"
    NOTHING = "leave everything as it is"


class Do(NamedTuple):
    """Take this step."""

    act: Act


class Refuse(NamedTuple):
    """The caller fails, with a sentence that says what to do."""


Answer = Do | Refuse

_PRODUCE, _SKIP = Do(Act.PRODUCE), Do(Act.SKIP_AND_DRAIN)
_DESCRIBE, _DECIDE, _ROLL, _FINISH = Do(Act.DESCRIBE), Do(Act.DECIDE), Do(Act.ROLL_FORWARD), Do(Act.FINISH)
_ABORT, _LEAVE = Do(Act.ABORT_OURS), Do(Act.NOTHING)
_FAIL = Refuse()

_ROWS: dict[CommitState, tuple[Answer, Answer, Answer]] = {
    #                    WRITE      COMMIT     ABORT
    CommitState.NEW:          (_PRODUCE,  _DESCRIBE, _ABORT),
    CommitState.PREPARED:     (_PRODUCE,  _DECIDE,   _ABORT),
    CommitState.BROKEN:       (_PRODUCE,  _FAIL,     _ABORT),
    CommitState.PENDING:      (_PRODUCE,  _FAIL,     _LEAVE),  # only the call that requested its end can wait for it
    CommitState.DECIDED:      (_SKIP,     _ROLL,     _LEAVE),
    CommitState.VISIBLE:      (_SKIP,     _FINISH,   _LEAVE),
    CommitState.LOST:         (_SKIP,     _FAIL,     _LEAVE),  # a task cannot repair it; commit() reports it
    CommitState.CONTRADICTED: (_FAIL,     _FAIL,     _LEAVE),
    CommitState.FENCED:       (_FAIL,     _FAIL,     _LEAVE),
}  # fmt: skip  # a table

TABLE: dict[tuple[CommitState, Call], Answer] = {
    (state, call): answer for state, row in _ROWS.items() for call, answer in zip(Call, row, strict=True)
}


def on(state: CommitState, call: Call) -> Answer:
    """Return the answer to `call` in `state`."""
    return TABLE[state, call]

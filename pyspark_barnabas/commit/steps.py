"""The steps that a front end has to take. Each is safe to take twice, and to be interrupted in the middle."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import LedgerRecord, Run, SourceOffset
from pyspark_barnabas.commit.messages import PreparedTransaction, WrittenPartition


@dataclass(frozen=True, slots=True)
class ReadLedger:
    """Read the ledger's committed records, to its end: see `opening` for what the end is."""


@dataclass(frozen=True, slots=True)
class TakeToken:
    """Call InitProducerId with this id: the result is the run's token, if it can be registered."""

    transactional_id: str


@dataclass(frozen=True, slots=True)
class Register:
    """In one transaction with the token: the record, EndTxn(commit).

    The end is sent once. If it is not known whether it took effect, continue with `unanswered_ms`: other tasks write
    with the token as soon as the record is visible, and a second end would commit what they wrote.
    """

    record: Run


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait this long, then look again."""

    ms: int


@dataclass(frozen=True, slots=True)
class UseToken:
    """The run has this token; the task continues with the ledger that was read last."""

    run: RunToken


@dataclass(frozen=True, slots=True)
class Produce:
    """InitProducerId with this id (retry on CONCURRENT_TRANSACTIONS), write the rows, wait for all acknowledgements,
    and do not end the transaction. In atomic mode `known` is the producer that all tasks share: no InitProducerId, and
    its sequence numbers continue from `written`; in a partition that is not in there they begin at 0.
    """

    transactional_id: str
    known: RunToken | None = None
    written: tuple[WrittenPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class SkipAndDrain:
    """Read all rows, for Spark's watermarks and state, and write none."""


@dataclass(frozen=True, slots=True)
class Describe:
    """DescribeTransactions; that an id is unknown is a result, too."""

    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decide:
    """In one transaction of the driver, with the run token: the record, TxnOffsetCommit of the offsets, EndTxn(commit).

    The record is produced with `record.sequence` as its base sequence. In atomic mode the transaction is that in which
    the tasks wrote. Its end is retried until it is answered; then the ledger is read again, to the high watermark.
    With a fencing answer, continue with `is_fenced`.
    """

    record: LedgerRecord
    offsets: tuple[SourceOffset, ...] = ()


@dataclass(frozen=True, slots=True)
class RollForward:
    """EndTxn(commit) for each, in parallel, retried until it succeeds; then discard the descriptions."""

    transactions: tuple[PreparedTransaction, ...]


@dataclass(frozen=True, slots=True)
class AbortOurs:
    """EndTxn(abort) for each, with exactly this producer and epoch; a refusal does not matter."""

    transactions: tuple[PreparedTransaction, ...]


@dataclass(frozen=True, slots=True)
class ListTasks:
    """ListTransactions by the prefix's pattern, and *after that* Describe of the driver's id."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """InitProducerId of each: its open transaction is aborted, and a task still writing in it is fenced. Then all is
    done; transactions that could not be swept now are swept after another batch.
    """

    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Raise, with this sentence."""

    sentence: str


OpeningStep = ReadLedger | TakeToken | Register | Wait | UseToken | Fail
WriteStep = Produce | SkipAndDrain | Fail
CommitStep = Describe | Decide | RollForward | ListTasks | Sweep | Done | Fail
AbortStep = AbortOurs | Done

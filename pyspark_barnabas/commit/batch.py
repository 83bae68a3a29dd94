"""One batch from a caller's view: its sink and run, and what the ledger has of it before transactions are described."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_barnabas.commit.identity import RunToken, Sink
from pyspark_barnabas.commit.ledger import Decided, Ledger
from pyspark_barnabas.commit.states import CommitState


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch, the run that handles it, and how the query is set up.

    run_id, run: Spark's name of the run, and its token, as `opening` found it or as the messages contain it.
    checkpoint_hash: SHA-256 of the checkpoint's offsets of this batch; None if the caller cannot see them (a task on
    another machine), or if there are none (a batch write).
    first_batch: the batch with which an empty ledger may begin, and with which one that is behind may continue: the
    batches before it had another sink.
    is_stream: a batch write is not followed by another batch, so its ledger has to record when it is settled.
    """

    sink: Sink
    run_id: str
    run: RunToken
    batch_id: int
    checkpoint_hash: str | None = None
    first_batch: int = 0
    is_stream: bool = True
    is_atomic: bool = False


def first_look(batch: Batch, ledger: Ledger, *, is_fenced: bool = False) -> tuple[CommitState, str]:
    """Return NEW, DECIDED, CONTRADICTED or FENCED, with the sentence for the last two."""
    if is_fenced:
        return CommitState.FENCED, fenced(batch)
    record = ledger.of(batch.sink.query_id, batch.batch_id)
    if record is None:
        return _undecided(batch, ledger)
    if _differ(record.checkpoint_hash, batch.checkpoint_hash):
        return CommitState.CONTRADICTED, (
            f"{_name(batch)} was written before, from other source offsets than the checkpoint has now: the "
            "checkpoint was rolled back or copied. Nothing was written. Use the checkpoint that belongs to the "
            "ledger, or start again with a new checkpoint and another prefix"
        )
    return CommitState.DECIDED, ""


def _undecided(batch: Batch, ledger: Ledger) -> tuple[CommitState, str]:
    decided = ledger.decided(batch.sink.query_id)
    expected = decided[-1].batch_id + 1 if decided else batch.first_batch
    if batch.batch_id == expected or expected < batch.batch_id == batch.first_batch:
        return CommitState.NEW, ""
    contradiction = (
        f"Spark wants to write {_name(batch)}, but in the ledger the next batch of this query is {expected}."
    )
    if batch.batch_id > expected:
        return CommitState.CONTRADICTED, (
            f"{contradiction} The ledger lost records, or the prefix was changed without a new checkpoint. Nothing was"
            " written. Give the query its earlier prefix; if the checkpoint comes from another sink, whose last "
            f"batch was certainly written once, set the option firstBatch={batch.batch_id}"
        )
    return CommitState.CONTRADICTED, (
        f"{contradiction} The checkpoint was rolled back further than the ledger reaches. Nothing was written. Use the "
        "newer checkpoint, or start again with a new checkpoint and another prefix"
    )


def fenced(batch: Batch) -> str:
    """Return the sentence of a run from which another one took over."""
    return (
        f"another run took over the sink {batch.sink.prefix!r} while run {batch.run} was at batch {batch.batch_id}:"
        " this run stops, and its undecided batch is discarded. If two queries were started, stop one; to run both, "
        "give each its own prefix. If only one was started, its driver paused for longer than its transaction "
        "timeout, or a task of an earlier run started late: restart it"
    )


def describe_loss(batch: Batch, record: Decided, transactional_id: str, became: str) -> str:
    """Return the sentence for a decided batch that can no longer be made visible."""
    return (
        f"{_name(batch)} was decided by run {record.run} ({record.rows} rows), but its transaction {transactional_id!r}"
        f" is {became}: part of the batch is missing from its topics. No more is written. This happens when"
        " the query was down for longer than its transaction timeout, or the transaction was aborted by hand."
        f" `python -m pyspark_barnabas recover {batch.sink.prefix} --topic TOPIC` prints the missing rows, and with "
        "--execute writes them again if the topic's log still has them; then restart the query"
    )


def _differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other


def _name(batch: Batch) -> str:
    return f"batch {batch.batch_id} of query {batch.sink.query_id}"

"""Bugs of the Spark sink: decisions, their order, fencing, and the restart of a query."""

from functools import partial

from tests.simulation.planted.planting import Bug

bug = partial(Bug, needs="sinks")
BUGS = (
    bug(
        "decision without a check of the tasks",
        "commit() decides without checking that the tasks' transactions are still open.",
        seeds=200,
    ).at(
        "_look_closer",
        "next((each for each in transactions if _standing(each, view) is not PreparedState.OPEN), None)",
        "None",
    ),
    bug(
        "prepared before the flush", "A task reports its transaction as prepared while its rows are still being sent."
    ).at("_produce", "transaction.flush()"),
    bug(
        "tasks committed before the decision", "commit() ends the tasks' transactions before it writes the decision."
    ).at(
        "_Committing._decide",
        "if step.record in self._written: ...",
        "self._roll_forward(getattr(step.record, 'transactions', ()))\nif step.record in self._written: ...",
    ),
    bug(
        "unacknowledged decision assumed",
        "The decision is valid once it was sent, and the ledger is not read again.",
        is_missed=True,
    )
    .at(
        "write_record",
        "raise _failed(error, settings, prefix, doing) from error",
        "if not doing.startswith('ending'):\n    raise _failed(error, settings, prefix, doing) from error",
    )
    .at(
        "_Committing._decide", "self._access.read(waits=True)", "type(view.ledger)((*view.ledger.records, step.record))"
    ),
    bug(
        "committed batch aborted",
        "abort() aborts the prepared transactions even if the ledger says that they are committed.",
        seeds=150,
    ).at("decide_abort", "answer == Do(Act.ABORT_OURS) and ours", "ours"),
    bug(
        "decision in flight ignored",
        "abort() ignores the driver's open transaction, which may still be committed.",
        is_missed=True,
    ).at(
        "decide_abort",
        "state is CommitState.NEW and driver is not None and driver.state in _UNDECIDED and not batch.is_atomic",
        "state is CommitState.NEW and driver is None",
    ),
    bug(
        "previous query's decision ignored",
        "A new checkpoint with an old prefix aborts the batch that the previous query decided to commit.",
        seeds=500,
    ).at("_leftovers", "newest is None", "newest is None or newest.query_id != batch.sink.query_id"),
    bug("aborted decision not filtered", "The sink reads the ledger with `read_uncommitted`.").at(
        "iter_between",
        "Consumer(client, isolation=READ_COMMITTED, auto_offset_reset='none', partition_bytes=_PARTITION_BYTES)",
        "Consumer(client, isolation=READ_UNCOMMITTED, auto_offset_reset='none', partition_bytes=_PARTITION_BYTES)",
    ),
    bug(
        "token of the previous run reused",
        "A new run uses the token of the previous run, so it does not fence that run.",
    ).at("next_step", "holder is not None and holder.run_id == opening.run_id", "holder is not None"),
    bug(
        "sweep without a check of the driver",
        "A driver aborts open transactions without checking that it is still the driver.",
        is_missed=True,
    ).at("_finish", "if not _is_driver(batch, view.driver):\n    return Fail(fenced(batch))"),
    bug(
        "transactional id from the attempt number",
        "A task's transactional id contains the attempt number, which starts again with each batch.",
        seeds=300,
    ).at(
        "decide_write",
        "TaskId(batch.sink.prefix, batch.run, partition, task_attempt)",
        "TaskId(batch.sink.prefix, batch.run, partition, attempt_number)",
    ),
    bug(
        "transactional id reused too early", "A process uses its transactional id again in the next batch.", seeds=400
    ).at("_is_free", "batch.batch_id - 2", "batch.batch_id - 1"),
    bug(
        "decided batch written again",
        "A run ignores the decisions of earlier runs, and writes their batches again.",
        is_missed=True,
    )
    .at("first_look", "record is None", "record is None or record.run != batch.run")
    .at(
        "_undecided",
        "batch.batch_id == expected or expected < batch.batch_id == batch.first_batch",
        "batch.batch_id <= expected",
    ),
    bug("losing attempt not aborted", "The transaction of a task attempt that Spark did not use stays open.").at(
        "_finish", "Sweep(ids) if ids else Done()", "Done()"
    ),
)

"""Bugs of the Spark sink: what is decided and when, who may decide it, what a run takes over from those before."""

from functools import partial

from tests.simulation.planted.planting import Bug

bug = partial(Bug, needs="sinks")
BUGS = (
    bug(
        "decided without a look at its tasks",
        "commit() does not ask whether the tasks' transactions are still open before it decides.",
        seeds=200,
    ).at(
        "_look_closer",
        "next((each for each in transactions if _standing(each, view) is not PreparedState.OPEN), None)",
        "None",
    ),
    bug("prepared before it is written", "A task says that it is prepared while its rows are on their way.").at(
        "_produce", "transaction.flush()"
    ),
    bug("committed before it is decided", "commit() ends the tasks' transactions, and then writes the decision.").at(
        "_Committing._decide",
        "if step.record in self._written: ...",
        "self._roll_forward(getattr(step.record, 'transactions', ()))\nif step.record in self._written: ...",
    ),
    bug(
        "a decision that nobody acknowledged",
        "The decision counts once it was sent, and the ledger is not read again.",
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
    bug("a decided batch aborted", "abort() aborts what its tasks prepared, whatever the ledger says.", seeds=150).at(
        "decide_abort", "answer == Do(Act.ABORT_OURS) and ours", "ours"
    ),
    bug(
        "a decision on its way aborted",
        "abort() does not see that the driver's transaction is open, and may be committed yet.",
        is_missed=True,
    ).at(
        "decide_abort",
        "state is CommitState.NEW and driver is not None and driver.state in _UNDECIDED and not batch.is_atomic",
        "state is CommitState.NEW and driver is None",
    ),
    bug(
        "another query's decision forgotten",
        "A new checkpoint under an old prefix begins anew, and aborts what the old query had decided.",
        seeds=500,
    ).at("_leftovers", "newest is None", "newest is None or newest.query_id != batch.sink.query_id"),
    bug("an aborted decision counts", "The ledger is read with all that was ever written into it.").at(
        "iter_between",
        "Consumer(client, isolation=READ_COMMITTED, auto_offset_reset='none', partition_bytes=_PARTITION_BYTES)",
        "Consumer(client, isolation=READ_UNCOMMITTED, auto_offset_reset='none', partition_bytes=_PARTITION_BYTES)",
    ),
    bug(
        "a run with its predecessor's token",
        "A new run goes on with the token of the one before: nothing fences that one.",
    ).at("next_step", "holder is not None and holder.run_id == opening.run_id", "holder is not None"),
    bug("a zombie that sweeps", "What is open is aborted without asking who the driver is by now.", is_missed=True).at(
        "_finish", "if not _is_driver(batch, view.driver):\n    return Fail(fenced(batch))"
    ),
    bug(
        "ids by the attempt's number",
        "A task's transactional id has the number of the attempt, which each batch counts anew.",
        seeds=300,
    ).at(
        "decide_write",
        "TaskId(batch.sink.prefix, batch.run, partition, task_attempt)",
        "TaskId(batch.sink.prefix, batch.run, partition, attempt_number)",
    ),
    bug(
        "an id taken again too soon", "A process uses its transactional id again in the very next batch.", seeds=400
    ).at("_is_free", "batch.batch_id - 2", "batch.batch_id - 1"),
    bug(
        "a decided batch written again",
        "A run knows its own decisions only, and writes again what the one before had decided.",
        is_missed=True,
    )
    .at("first_look", "record is None", "record is None or record.run != batch.run")
    .at(
        "_undecided",
        "batch.batch_id == expected or expected < batch.batch_id == batch.first_batch",
        "batch.batch_id <= expected",
    ),
    bug("losing attempts left open", "Nobody aborts what an attempt wrote that was not waited for.").at(
        "_finish", "Sweep(ids) if ids else Done()", "Done()"
    ),
)

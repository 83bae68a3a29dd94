"""Bugs of the Spark sink: what is decided and when, who may decide it, what a run takes over from those before."""

from functools import partial

from tests.simulation.planted.planting import Bug, Edit
from tests.simulation.planted.planting import bug as any_bug

bug = partial(any_bug, needs="sinks")

BUGS = (
    bug(
        "decided without a look at its tasks",
        "commit() does not ask whether the tasks' transactions are still open before it decides.",
        "pyspark_barnabas/commit/committing.py",
        "        broken = next((each for each in transactions if _standing(each, view) is not Standing.OPEN), None)\n",
        "        broken = None\n",
        seeds=200,
    ),
    bug(
        "prepared before it is written",
        "A task says that it is prepared while its rows are on their way.",
        "pyspark_barnabas/sink/task.py",
        "        transaction.flush()\n",
        "        pass\n",
    ),
    bug(
        "committed before it is decided",
        "commit() ends the tasks' transactions, and then writes the decision.",
        "pyspark_barnabas/sink/driver.py",
        "    def _decide(self, step: Decide, view: CommitView) -> CommitView:\n",
        "    def _decide(self, step: Decide, view: CommitView) -> CommitView:\n"
        "        self._roll_forward(getattr(step.record, 'transactions', ()))\n",
    ),
    Bug(
        "a decision that nobody acknowledged",
        "The decision counts once it was sent, and the ledger is not read again.",
        (
            Edit(
                "pyspark_barnabas/sink/driver_transaction.py",
                "        raise _failed(error, settings, prefix, doing) from error\n",
                "        if not doing.startswith('ending'):\n"
                "            raise _failed(error, settings, prefix, doing) from error\n",
            ),
            Edit(
                "pyspark_barnabas/sink/driver.py",
                "        return replace(view, ledger=self._access.read(waits=True))\n",
                "        return replace(view, ledger=type(view.ledger)((*view.ledger.records, step.record)))\n",
            ),
        ),
        needs="sinks",
        is_missed=True,
    ),
    bug(
        "a decided batch aborted",
        "abort() aborts what its tasks prepared, whatever the ledger says.",
        "pyspark_barnabas/commit/aborting.py",
        "    return AbortOurs(ours) if answer == Do(Act.ABORT_OURS) and ours else Done()\n",
        "    return AbortOurs(ours) if ours else Done()\n",
        seeds=150,
    ),
    bug(
        "a decision on its way aborted",
        "abort() does not see that the driver's transaction is open, and may be committed yet.",
        "pyspark_barnabas/commit/aborting.py",
        "    if state is State.NEW and driver is not None and driver.state in _UNDECIDED and not batch.is_atomic:\n",
        "    if state is State.NEW and driver is None:\n",
        is_missed=True,
    ),
    bug(
        "another query's decision forgotten",
        "A new checkpoint under an old prefix begins anew, and aborts what the old query had decided.",
        "pyspark_barnabas/commit/committing.py",
        "    newest = _unsettled_before(batch, view)\n    if newest is None:\n",
        "    newest = _unsettled_before(batch, view)\n"
        "    if newest is None or newest.query_id != batch.sink.query_id:\n",
        seeds=500,
    ),
    bug(
        "an aborted decision counts",
        "The ledger is read with all that was ever written into it.",
        "pyspark_barnabas/sink/ledger/reader.py",
        "    consumer = Consumer(client, isolation=READ_COMMITTED, auto_offset_reset",
        "    consumer = Consumer(client, isolation=READ_UNCOMMITTED, auto_offset_reset",
    ),
    bug(
        "a run with its predecessor's token",
        "A new run goes on with the token of the one before: nothing fences that one.",
        "pyspark_barnabas/commit/opening.py",
        "    if holder is not None and holder.run_id == opening.run_id:\n",
        "    if holder is not None:\n",
    ),
    bug(
        "a zombie that sweeps",
        "What is open is aborted without asking who the driver is by now.",
        "pyspark_barnabas/commit/committing.py",
        "    if not _is_driver(batch, view.driver):\n        return Fail(fenced(batch))\n",
        "",
        is_missed=True,
    ),
    bug(
        "ids by the attempt's number",
        "A task's transactional id has the number of the attempt, which each batch counts anew.",
        "pyspark_barnabas/commit/writing.py",
        "batch.run, partition, task_attempt)))\n",
        "batch.run, partition, attempt_number)))\n",
        seeds=300,
    ),
    bug(
        "an id taken again too soon",
        "A process uses its transactional id again in the very next batch.",
        "pyspark_barnabas/commit/writing.py",
        "    if own.batch_id > batch.batch_id - 2:\n",
        "    if own.batch_id > batch.batch_id - 1:\n",
        seeds=400,
    ),
    Bug(
        "a decided batch written again",
        "A run knows its own decisions only, and writes again what the one before had decided.",
        (
            Edit(
                "pyspark_barnabas/commit/batch.py",
                "    record = ledger.of(batch.sink.query_id, batch.batch_id)\n    if record is None:\n",
                "    record = ledger.of(batch.sink.query_id, batch.batch_id)\n"
                "    if record is None or record.run != batch.run:\n",
            ),
            Edit(
                "pyspark_barnabas/commit/batch.py",
                "    if batch.batch_id == expected or expected < batch.batch_id == batch.first_batch:\n",
                "    if batch.batch_id <= expected:\n",
            ),
        ),
        needs="sinks",
        is_missed=True,
    ),
    bug(
        "losing attempts left open",
        "Nobody aborts what an attempt wrote that was not waited for.",
        "pyspark_barnabas/commit/committing.py",
        "    return Sweep(ids) if ids else Done()\n",
        "    return Done()\n",
    ),
)

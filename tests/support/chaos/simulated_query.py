"""A query without Spark: tasks in threads, a commit, an abort where Spark would, a new run where one would start it.

For faults that are many and small, each of which would otherwise cost a Spark session. Tasks of a run have threads of
their own, so that nothing is remembered from one run to the next; what a process of Spark's keeps, a thread keeps here.
"""

import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow

from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.commit.ledger import SourceOffset
from pyspark_barnabas.commit.messages import Message
from pyspark_barnabas.sink import driver, task
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings, TaskFacts
from tests.support.chaos.audit import Row

TASKS, STARTS = 2, 4
T = TypeVar("T")
_attempts = iter(range(1, 1 << 30))
_drawing = threading.Lock()


class SimulatedQuery:
    """One query with its checkpoint. batches: the rows of each."""

    def __init__(self, settings: SinkSettings, batches: list[list[Row]]) -> None:
        self._settings = settings
        self._batches = batches
        self._query_id = str(uuid.uuid4())
        self._noted = -1
        self.failures: list[str] = []

    def run(self) -> None:
        """Until every batch is noted, with a few starts at most."""
        for _ in range(STARTS):
            try:
                self._start(str(uuid.uuid4()))
            except SinkFailed as failure:
                self.failures.append(str(failure))
            else:
                return
        raise AssertionError(f"{STARTS} starts were not enough: {self.failures}")

    def _start(self, run_id: str) -> None:
        with ThreadPoolExecutor(TASKS) as tasks, ThreadPoolExecutor(1) as committer:
            try:
                for batch_id in range(self._noted + 1, len(self._batches)):
                    self._one_batch(run_id, batch_id, tasks, committer)
                    self._noted = batch_id
            finally:
                together = threading.Barrier(TASKS)
                list(tasks.map(lambda _: self._close(together), range(TASKS)))
                committer.submit(self._close).result()

    def _close(self, together: threading.Barrier | None = None) -> None:
        """What the end of a process does: close its connections. In each thread once."""
        if together is not None:
            together.wait()
        client_for(self._settings.connection).close()

    def _one_batch(self, run_id: str, batch_id: int, tasks: ThreadPoolExecutor, committer: ThreadPoolExecutor) -> None:
        rows = self._batches[batch_id]

        def write(partition: int) -> Message:
            with _drawing:
                attempt = next(_attempts)
            facts = TaskFacts(self._query_id, run_id, batch_id, partition, 0, attempt)
            mine = [row for row in rows if row[0][-1] % TASKS == partition]
            return task.write(self._settings, facts, iter([to_arrow(mine, partition)]))

        messages, failure = _outcomes(tasks.map(_caught(write), range(TASKS)))
        offsets = (SourceOffset("source", 0, sum(len(each) for each in self._batches[: batch_id + 1])),)
        checkpoint = CheckpointOffsets(f"{batch_id:064x}", offsets)
        try:
            if failure is not None:
                raise failure
            sent = [each for each in messages if each is not None]
            committer.submit(
                driver.commit, self._settings, batch_id, sent, query_id=self._query_id, checkpoint=checkpoint
            ).result()
        except SinkFailed:
            aborting = committer.submit(
                driver.abort, self._settings, batch_id, messages, query_id=self._query_id, checkpoint=checkpoint
            )
            error = aborting.exception()
            if error is not None and not isinstance(error, SinkFailed):
                raise error from None
            raise


def to_arrow(rows: Iterable[Row], partition: int) -> pyarrow.RecordBatch:
    """Rows as the sink takes them, all for one partition, as atomic mode wants it."""
    listed = list(rows)
    keys = pyarrow.array([key for key, _ in listed], pyarrow.binary())
    values = pyarrow.array([b"%d" % number for _, number in listed], pyarrow.binary())
    partitions = pyarrow.array([partition] * len(listed), pyarrow.int32())
    return pyarrow.record_batch([keys, values, partitions], names=["key", "value", "partition"])


def _caught(call: Callable[[int], T]) -> Callable[[int], T | SinkFailed]:
    def caught(number: int) -> T | SinkFailed:
        try:
            return call(number)
        except SinkFailed as failure:
            return failure

    return caught


def _outcomes(results: Iterable[Message | SinkFailed]) -> tuple[list[Message | None], SinkFailed | None]:
    listed = list(results)
    failure = next((each for each in listed if isinstance(each, SinkFailed)), None)
    return [None if isinstance(each, SinkFailed) else each for each in listed], failure

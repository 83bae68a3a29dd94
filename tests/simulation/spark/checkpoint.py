"""A query's checkpoint: what a start of the query finds of the ones before. Nothing takes anything from it.

As Spark's: the offsets of a batch are written before its tasks begin, that it is committed after commit() returned; and
a file is written once, so that whoever comes second with one stops.
"""

import random

from pyspark_barnabas.sink.checkpoint import CheckpointOffsets, parse_offsets
from tests.simulation.history.sink import BatchRows, SinkHistory

SOURCE = "input", 0
"""Of which partition the query reads, as far as the checkpoint says."""


class ConcurrentUpdate(Exception):
    """Another start of the query wrote the file before."""


class Checkpoint:
    """Of one query."""

    def __init__(self, query_id: str, history: SinkHistory, dice: random.Random, *, rows_max: int) -> None:
        self.query_id = query_id
        self._history, self._dice, self._rows_max = history, dice, rows_max
        self._planned: list[BatchRows] = []
        history.queries.append(query_id)
        self._committed: set[int] = set()

    def next_batch(self) -> int:
        """With which batch a start goes on: the last one again, unless it is known to be committed."""
        last = len(self._planned) - 1
        return last + 1 if last < 0 or last in self._committed else last

    def is_planned(self, batch_id: int) -> bool:
        return batch_id < len(self._planned)

    def plan(self, batch_id: int) -> None:
        """Put a new batch on record. ConcurrentUpdate."""
        if self.is_planned(batch_id):
            raise ConcurrentUpdate(f"offsets/{batch_id}")
        begin = self._planned[-1].end_offset if self._planned else 0
        rows = self._dice.randint(0, self._rows_max)
        batch = BatchRows(self.query_id, batch_id, rows, begin + rows)
        self._planned.append(batch)
        self._history.batches[self.query_id, batch_id] = batch

    def batch(self, batch_id: int) -> BatchRows:
        return self._planned[batch_id]

    def offsets(self, batch_id: int) -> CheckpointOffsets:
        """As the sink reads them from the file."""
        topic, partition = SOURCE
        line = f'{{"{topic}":{{"{partition}":{self.batch(batch_id).end_offset}}}}}'
        return parse_offsets(f'v1\n{{"batchWatermarkMs":0}}\n{line}')

    def commit(self, batch_id: int) -> None:
        """commit() has returned. ConcurrentUpdate."""
        if batch_id in self._committed:
            raise ConcurrentUpdate(f"commits/{batch_id}")
        self._committed.add(batch_id)
        self._history.completed.add((self.query_id, batch_id))

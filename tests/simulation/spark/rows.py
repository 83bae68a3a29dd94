"""The rows of one attempt at a task, as the sink gets them from Spark and as the history keeps them."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from tests.simulation.history.history import History, Incarnation, Outcome, Send, Transaction
from tests.simulation.history.sink import Attempt, Row
from tests.simulation.spark.python_process import PythonProcess
from tests.simulation.world.world import World

_SLOW = 0.2


class Rows:
    """What the sink uses of a pyarrow.RecordBatch where there is no numpy."""

    names = ("value", "partition")

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.schema = self
        self._rows = rows

    def to_pylist(self) -> list[dict[str, Any]]:
        return self._rows


class AttemptRows:
    """To the history it is a transaction of its own; in atomic mode that is a part of the one it is."""

    def __init__(self, world: World, history: History, attempt: Attempt, rows: Sequence[int], topic: str) -> None:
        self._world, self._history, self._attempt, self._rows, self._topic = world, history, attempt, rows, topic
        incarnation = Incarnation(attempt.client, None, attempt.began_us)
        self._transaction = Transaction(incarnation, 1, attempt.began_us)

    def give(
        self, process: PythonProcess, partitions: Sequence[int], dice: random.Random, slow_s: float
    ) -> Iterator[Rows]:
        """In some pieces, between which up to `slow_s` may go by. partitions: to which of its topic's they go."""
        rest = list(self._rows)
        while rest:
            piece = rest[: dice.randint(1, 3)]
            del rest[: len(piece)]
            yield Rows([self._row(each, dice.choice(partitions)) for each in piece])
            if dice.random() < _SLOW:
                process.sleep(dice.uniform(0, slow_s))

    def _row(self, number: int, partition: int) -> dict[str, Any]:
        batch, transaction = self._attempt.batch, self._transaction
        value = Row(batch.query_id, batch.batch_id, number, self._attempt.name).value()
        at = self._topic, partition
        send = Send(transaction.incarnation, transaction, at, value, len(transaction.sends), self._world.now_us)
        if not transaction.sends:
            self._history.incarnations.append(transaction.incarnation)
            self._history.transactions.append(transaction)
        transaction.sends.append(send)
        self._history.sends.append(send)
        return {"value": value, "partition": partition}

    def note_end(self, *, is_prepared: bool) -> None:
        """Whether the task said that all of them are acknowledged."""
        for send in self._transaction.sends:
            send.outcome = Outcome.OK if is_prepared else Outcome.UNKNOWN

    def note_commit(self) -> None:
        """The driver is about to commit it."""
        self._transaction.is_commit, self._transaction.end_asked_us = True, self._world.now_us

"""The sink as Spark calls it, without Spark: tasks that write, commit(), abort() when that raises, and a new start."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
import pytest

from barnabas.client.client import Client
from barnabas.client.consume.consumer import ConsumedRecord, Consumer
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from pyspark_barnabas.commit.ledger import SourceOffset
from pyspark_barnabas.commit.messages import Message, Prepared, PreparedTransaction
from pyspark_barnabas.sink import driver, task
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings, TaskFacts

_task_attempts = count()


def rows(values: Sequence[str], **columns: Sequence[Any]) -> Any:
    """A RecordBatch with these values and further columns."""
    return pa.record_batch({"value": [each.encode() for each in values], **columns})


class Query:
    """One query under a checkpoint: `start` begins a run of it."""

    def __init__(self, settings: SinkSettings, query_id: str = "q", *, is_stream: bool = True) -> None:
        self.settings = settings
        self.query_id = query_id
        self.is_stream = is_stream
        self.run_id = ""
        self._runs = count()
        self.start()

    @property
    def topic(self) -> str:
        """The one that it writes to."""
        assert self.settings.topic is not None
        return self.settings.topic

    def start(self) -> None:
        """A new run, as after a restart."""
        self.run_id = f"{self.query_id}-run-{next(self._runs)}"

    def write(self, batch_id: int, parts: Sequence[Any], *, attempt_number: int = 0) -> list[Message]:
        """Every task writes its part, one after the other; a part is a RecordBatch, or an iterable of them."""
        return [self.write_part(batch_id, at, part, attempt_number=attempt_number) for at, part in enumerate(parts)]

    def write_part(self, batch_id: int, partition: int, part: Any, *, attempt_number: int = 0) -> Message:
        """One task writes its part."""
        facts = TaskFacts(
            self.query_id, self.run_id, batch_id, partition, attempt_number, next(_task_attempts), self.is_stream
        )
        batches: Iterator[Any] = iter([part]) if isinstance(part, pa.RecordBatch) else iter(part)
        return task.write(self.settings, facts, batches)

    def commit(self, batch_id: int, messages: Sequence[Message], checkpoint: CheckpointOffsets | None = None) -> None:
        """As Spark does: when commit() raises, abort() follows, whose failure is not reported."""
        options: dict[str, Any] = {"query_id": self.query_id, "checkpoint": checkpoint, "is_stream": self.is_stream}
        try:
            driver.commit(self.settings, batch_id, messages, **options)
        except Exception:
            driver.abort(self.settings, batch_id, messages, **options)
            raise

    def decide(self, batch_id: int, messages: Sequence[Message], checkpoint: CheckpointOffsets | None = None) -> None:
        """A commit() that stops where the batch is decided, before its transactions end."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(driver, "end_all", _stop)
            with pytest.raises(SinkFailed, match="stopped here"):
                self.commit(batch_id, messages, checkpoint)

    def play(self, batch_id: int, parts: Sequence[Any], checkpoint: CheckpointOffsets | None = None) -> None:
        """A whole batch."""
        self.commit(batch_id, self.write(batch_id, parts), checkpoint)


def _stop(*arguments: object, **options: object) -> None:
    raise SinkFailed("stopped here")


def transaction_of(message: object) -> PreparedTransaction:
    """The transaction that a task has prepared."""
    assert isinstance(message, Prepared)
    assert message.transaction is not None
    return message.transaction


def checkpoint(batch_id: int, story: str = "a", **offsets: int) -> CheckpointOffsets:
    """The rows of a batch by its checkpoint; another story has read other rows."""
    return CheckpointOffsets(f"{story}-{batch_id}", tuple(SourceOffset(each, 0, at) for each, at in offsets.items()))


def committed(client: Client, topic: str) -> list[ConsumedRecord]:
    """Everything that read_committed readers see of a topic, up to its end; nothing in it may be open."""
    partitions = sorted(client.refresh([topic], client.deadline()).topic(topic).partitions)
    places: list[TopicPartition] = [(topic, number) for number in partitions]
    ends = list_offsets(client, dict.fromkeys(places, LATEST), isolation=READ_UNCOMMITTED)
    consumer = Consumer(client, isolation=READ_COMMITTED, auto_offset_reset="earliest")
    consumer.assign(places)
    found: list[ConsumedRecord] = []
    deadline = client.deadline()
    while any((consumer.positions[place] or 0) < ends[place].offset for place in places):
        assert not deadline.is_over, f"{topic} is held open: {consumer.positions} of {ends}"
        found += consumer.poll(100)
    return found


def committed_values(client: Client, topic: str) -> list[str]:
    """The values of `committed`, in the order of partitions and offsets."""
    found = sorted(committed(client, topic), key=lambda each: (each.partition, each.record.offset))
    return [(each.record.value or b"").decode() for each in found]


def ends(client: Client, topic: str) -> Mapping[TopicPartition, int]:
    """The last stable offset of each partition of a topic."""
    partitions = client.refresh([topic], client.deadline()).topic(topic).partitions
    wanted: dict[TopicPartition, int] = {(topic, number): LATEST for number in partitions}
    found = list_offsets(client, wanted, isolation=READ_COMMITTED)
    return {place: each.offset for place, each in found.items()}

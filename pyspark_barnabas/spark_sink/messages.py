"""The message that a task's write() returns to Spark, which passes it to commit() or abort()."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_barnabas.commit.messages import Message


@dataclass(frozen=True)
class TaskMessage(WriterCommitMessage):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """A task's message. checkpoint: the path of the stream's checkpoint, as only tasks see Spark's settings."""

    message: Message
    checkpoint: str | None = None


def unwrap(messages: Iterable[TaskMessage | None]) -> list[Message | None]:
    """Return the messages of the commit protocol; None for a task that sent none."""
    return [None if each is None else each.message for each in messages]

"""commit() and abort(): take the steps that `pyspark_barnabas.commit` asks for, until it says that all is done."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_barnabas.commit.messages import Message
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings


def commit(
    settings: SinkSettings,
    batch_id: int,
    messages: Sequence[Message],
    *,
    query_id: str,
    checkpoint: CheckpointOffsets | None = None,
    is_stream: bool = True,
) -> None:
    """Make the batch visible, once, whoever tried before; SinkFailed says why not, and what to do."""
    raise SinkFailed("the sink is being built")


def abort(
    settings: SinkSettings,
    batch_id: int,
    messages: Sequence[Message | None],
    *,
    query_id: str,
    checkpoint: CheckpointOffsets | None = None,
    is_stream: bool = True,
) -> None:
    """Throw the batch away, unless it was decided or may be yet. `messages` has None for a task that sent none."""
    raise SinkFailed("the sink is being built")

"""What a checkpoint says of a batch: how far its sources are read when it is done, and a hash of just that."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_barnabas.commit.ledger import SourceOffset


@dataclass(frozen=True, slots=True)
class CheckpointOffsets:
    """The offsets of one batch in a checkpoint.

    sha256: of the file's bytes, in hexadecimal. offsets: of every source that reads topics, as the next to be read.
    """

    sha256: str
    offsets: tuple[SourceOffset, ...]


def read_checkpoint(location: str, batch_id: int) -> CheckpointOffsets:
    """The offsets of a batch in the checkpoint at `location` (a path or a URI); ValueError if it cannot be seen."""
    raise ValueError("the sink is being built")

"""How rows become batches, and the sentences for rows that cannot. Pure; no Arrow, no numpy."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.protocol.records.batch import HEADER_SIZE

HEAD_BYTES = 21  # the size of a record before its tail (`encoded_columns`), at most
_KEY_SHOWN = 60


class BadRows(ValueError):
    """The rows cannot be written as they are; none of them was. The message says what to change."""


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """How rows become batches.

    topic: of rows that name none. compression: the codec's number. batch_bytes: the aim for a batch before it is
    compressed. max_batch_bytes: the limit for a batch of a single record. fixed_headers: headers of every row, behind
    its own. first_partition: where rows without a key begin.
    """

    topic: str | None
    compression: int
    batch_bytes: int
    max_batch_bytes: int
    fixed_headers: tuple[tuple[str, bytes], ...] = ()
    first_partition: int = 0


def no_topic(key: bytes | None, partition: int | None) -> BadRows:
    """Return the error for a row that has no topic, with its key and the partition that it requests."""
    which = (
        "without a key" if key is None else f"with the key {key[:_KEY_SHOWN]!r}{'…' if len(key) > _KEY_SHOWN else ''}"
    )
    asks = "" if partition is None else f", for partition {partition},"
    return BadRows(
        f"a row {which}{asks} has no topic, and the sink has none: set the option topic, or fill the column `topic`"
    )


def bad_partition(topic: str, wanted: int, count: int) -> BadRows:
    """Return the error for a row that requests a partition which is not among `count`."""
    if wanted < 0:
        return BadRows(f"a row asks for partition {wanted}: partitions are counted from 0; with null the sink chooses")
    return BadRows(
        f"a row asks for partition {wanted} of topic {topic!r}, which has {count}, counted from 0: correct the column"
        " `partition`, or add partitions to the topic"
    )


def too_large(topic: str, size: int, most: int) -> BadRows:
    """Return the error for a record of `size` bytes, if a batch may have `most`."""
    return BadRows(
        f"a record for topic {topic!r} takes {size + HEADER_SIZE} bytes, and kafka.max.request.size is {most}: raise"
        " it, and the topic's max.message.bytes with it, or write smaller rows"
    )

# compiled: mypyc
"""Validation of a batch before it is appended: the checks of it as a whole, in Kafka's order, and preparation.

Knows the batch, the topic's settings and the producers; knows no offsets but those of the producers' windows.
log_validator.py has the checks inside the batch. The common batch does not come here: Appender.append_plain (append.py)
checks it in one condition. The two agree: a test passes the same batches to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import (
    CREATE_TIME,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    BatchHeader,
    WritableBuffer,
    parse_header,
    set_max_timestamp,
)
from barnabas.protocol.records.compression import NONE
from barnabas.protocol.records.record_times import largest_timestamp
from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.log.log_validator import Demands, check_batch, needs_walk, walk
from barnabas.storage.producers.producer_state_entry import SeenBatch
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.refusals import AppendRefused
from barnabas.storage.segment.segment import Segment

_WINDOW_STEP_OFFSETS: Final = 1024
_EPOCH_BUMPED_SINCE_PRODUCE_VERSION: Final = 12  # every transaction ends with a new epoch (KIP-890)


class CheckedBatch(NamedTuple):
    """A batch ready to be written, or the batch that it repeats."""

    batch: WritableBuffer
    header: BatchHeader
    log_append_time_ms: int
    repeated: SeenBatch | None


def check_append(
    batch: WritableBuffer,
    config: LogConfig,
    demands: Demands,
    producers: ProducerStateManager,
    now_ms: int,
    *,
    from_client: bool,
    produce_version: int,
    is_walked: bool,
) -> CheckedBatch:
    """Check a batch in Kafka's order and prepare it. AppendRefused leaves everything unchanged, the batch too.

    `batch` itself may be changed (log-append time), or replaced by a walked one. The time is set last: a refused batch
    may be judged again, and one that has log-append time already is refused as a client's claim.
    """
    header = check_batch(batch, demands, produce_version, from_client=from_client)
    if len(batch) != header.size_in_bytes:
        batch = memoryview(batch)[: header.size_in_bytes]
    largest = header.max_timestamp
    if from_client and not is_walked:
        found = None if needs_walk(header, demands, now_ms) else _largest_timestamp(batch, header, demands, now_ms)
        if found is None:
            batch = walk(batch, config, now_ms, produce_version)
            header = parse_header(batch)
        largest = header.max_timestamp if found is None else found
    if header.size_in_bytes > config.segment_bytes:
        raise AppendRefused(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"a batch of {header.size_in_bytes} bytes, a segment holds {config.segment_bytes}",
        )
    assert not header.is_control, "append got a marker, which only append_marker writes"
    repeated = None
    if header.has_producer_id:
        bumps_epoch = produce_version >= _EPOCH_BUMPED_SINCE_PRODUCE_VERSION
        repeated = producers.check_batch(header, from_client=from_client, bumps_epoch=bumps_epoch)
    log_append_time_ms = NO_TIMESTAMP
    if demands.timestamp_type == LOG_APPEND_TIME and repeated is None:
        log_append_time_ms = now_ms
        set_max_timestamp(batch, 0, LOG_APPEND_TIME, now_ms)
        header = parse_header(batch)
    elif largest != header.max_timestamp and repeated is None:
        set_max_timestamp(batch, 0, CREATE_TIME, largest)
        header = parse_header(batch)
    return CheckedBatch(batch, header, log_append_time_ms, repeated)


def _largest_timestamp(batch: Buffer, header: BatchHeader, demands: Demands, now_ms: int) -> int | None:
    """Return the largest timestamp of a batch that needs no walk, computed where the header may be wrong.
    None if a walk is needed after all, to find what else is wrong.
    """
    if header.compression != NONE or demands.timestamp_type == LOG_APPEND_TIME:
        return header.max_timestamp
    records = bytes(memoryview(batch)[HEADER_SIZE:])
    found = largest_timestamp(records, header.base_timestamp, header.records_count)
    if found is None or not -LONG_MAX <= found <= min(LONG_MAX, now_ms + demands.timestamp_after_max_ms):
        return None
    return found


def read_older_batches(
    header: BatchHeader, producers: ProducerStateManager, segments: Sequence[Segment], offsets_max: int
) -> int:
    """Complete the producers' windows as far as `header` may need it; return the number of offsets read.

    A snapshot stores one batch of five for each producer. When a batch seems out of order and may repeat one below the
    snapshot that the log was loaded from, the headers before it are read, backwards in growing steps, until the
    producer's window is whole.
    """
    from barnabas.storage.recovery.producer_state_rebuild import batches_between

    used, step = 0, _WINDOW_STEP_OFFSETS
    while used < offsets_max and producers.wants_older(header):
        known_from = producers.seen_from
        start = max(known_from - min(step, offsets_max - used), segments[0].base_offset)
        if start >= known_from:
            break
        producers.add_older((older for older, _ in batches_between(segments, start, known_from)), start)
        used += known_from - start
        step *= 4
    return used

# compiled: mypyc
"""The checks of a batch before it is appended, in Kafka's order, and the rewriting that goes with them.

`check_batch` checks the header and the CRC and is enough for most topics. If a topic's settings require more
(`needs_walk`), `walk` decompresses, checks every record and returns the batch to append; it also does so if the
largest timestamp in the header may be wrong. Otherwise the header's data about its records is trusted:
docs/decisions/0010.

All functions here are pure. A client determines how long a walk takes: a batch of a megabyte may
hold a hundred million records. `walk_in_steps` pauses between pieces of it. Nothing here knows offsets or producers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Set
from enum import Enum
from struct import Struct
from typing import Final, Literal, NamedTuple, TypeAlias

from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CREATE_TIME,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    TRANSACTIONAL_MASK,
    BatchHeader,
    next_batch_size,
    parse_header,
    set_max_timestamp,
    verify_crc,
)
from barnabas.protocol.records.builder import Rebuilding
from barnabas.protocol.records.compression import (
    COMPRESSION_IDS,
    COMPRESSION_NAMES,
    LZ4,
    NONE,
    ZSTD,
    lz4_blocks_are_independent,
)
from barnabas.protocol.records.record import RECORD_BYTES_MAX, iter_records_with_pauses
from barnabas.protocol.records.record_times import iter_times
from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.refusals import AppendRefused, RecordError

PRODUCER_COMPRESSION: Final = -1  # the codec is the producer's choice
REBUILT_BYTES_MAX: Final = 128 * 1024 * 1024  # of a recompressed batch, which is held in memory
PRODUCE_VERSION_NEWEST: Final = 13

_ZSTD_SINCE_PRODUCE_VERSION: Final = 7
COUNTED_AT_ONCE_MAX: Final = 4_096
"""Uncompressed records whose timestamps are compared at once: a millisecond and a half in pure Python."""
RECORD_ERRORS_MAX = 1_000
"""The number of records that one refusal lists: a compressed megabyte may hold a hundred million records."""
_RECORD_ERRORS_SHOWN: Final = 3
_RECORDS_A_STEP: Final = 64
_COMPRESSED_HERE_BYTES_MAX: Final = 16 << 10
_LARGE_BYTES_MIN = 4 << 20
_INVALID_TIMESTAMP: Final = "One or more records have been rejected due to invalid timestamp"  # exactly Kafka's message
_unpack_glance: Final = Struct(">h12xqq6xi").unpack_from  # attributes, largest timestamp, producer id, count


class _Growth(Enum):
    GROWS = 1


GROWS: Final = _Growth.GROWS
Step: TypeAlias = Callable[[], None] | Literal[_Growth.GROWS] | None
Walking: TypeAlias = Generator[Step, None, bytearray]
"""Yields None for a pause, or GROWS for one where the batch is being rebuilt and has become large, or a function to
call before it continues, in any thread: it may take long."""


class Demands(NamedTuple):
    """The requirements of a topic's settings for every batch, computed once per change of the settings."""

    max_message_bytes: int
    max_record_bytes: int  # of a record in a compressed batch
    compacted: bool
    compression: int  # the codec batches are stored in, or PRODUCER_COMPRESSION
    timestamp_type: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    walks_all: bool  # every batch must be walked, independent of its header
    plain_attributes: frozenset[int]  # of batches that need no other check than that of their time

    @classmethod
    def of(cls, config: LogConfig) -> Demands:
        """Return the demands of a topic with these settings."""
        create_time = config.message_timestamp_type == "CreateTime"
        finite_before = create_time and config.message_timestamp_before_max_ms < LONG_MAX
        walks_all = config.is_compacted or finite_before
        compression = _codec(config.compression_type)
        codecs = set(COMPRESSION_NAMES) if compression == PRODUCER_COMPRESSION else {compression}
        if config.max_decompressed_message_bytes < RECORD_BYTES_MAX:
            codecs &= {NONE}
        return cls(
            max_message_bytes=config.max_message_bytes,
            max_record_bytes=min(config.max_decompressed_message_bytes, RECORD_BYTES_MAX),
            compacted=config.is_compacted,
            compression=compression,
            timestamp_type=CREATE_TIME if create_time else LOG_APPEND_TIME,
            timestamp_before_max_ms=config.message_timestamp_before_max_ms,
            timestamp_after_max_ms=config.message_timestamp_after_max_ms if create_time else LONG_MAX,
            walks_all=walks_all,
            plain_attributes=_plain(codecs) if create_time and not walks_all else frozenset(),
        )


def _plain(codecs: Set[int]) -> frozenset[int]:
    """Return the attributes with one of these codecs, inside transactions or not, and nothing else."""
    return frozenset(codecs | {codec | TRANSACTIONAL_MASK for codec in codecs})


def needs_walk(header: BatchHeader, demands: Demands, now_ms: int) -> bool:
    """Return whether the records must be checked: required by the topic, or because of the header."""
    checks_times = demands.timestamp_type == CREATE_TIME and _may_misstate_times(header)
    checks_sizes = _max_record_bytes(header, demands) < RECORD_BYTES_MAX
    return checks_times or checks_sizes or _needs_whole_records(header, demands, now_ms)


def _may_misstate_times(header: BatchHeader) -> bool:
    """Return whether the largest timestamp may be wrong, so that a walk is needed to check it.
    Without compression and with few records, the appending code compares it (docs/decisions/0010).
    """
    if header.compression == NONE:
        return header.records_count > COUNTED_AT_ONCE_MAX
    return header.lacks_max_timestamp or not header.has_producer_id


def _max_record_bytes(header: BatchHeader, demands: Demands) -> int:
    """Return the limit of a record's bytes, which applies to compressed records only."""
    return RECORD_BYTES_MAX if header.compression == NONE else demands.max_record_bytes


def _needs_whole_records(header: BatchHeader, demands: Demands, now_ms: int) -> bool:
    return (
        demands.walks_all
        or header.timestamp_type == LOG_APPEND_TIME  # clients may not set that
        or header.max_timestamp - now_ms > demands.timestamp_after_max_ms
        or demands.compression not in (PRODUCER_COMPRESSION, header.compression)
    )


def is_plain(batch: Buffer, demands: Demands, now_ms: int) -> bool:
    """Return whether the header alone, which is complete, shows that the batch needs no walk."""
    attributes, max_timestamp, producer_id, count = _unpack_glance(batch, ATTRIBUTES_POSITION)
    return (
        attributes in demands.plain_attributes
        and max_timestamp > NO_TIMESTAMP
        and max_timestamp - now_ms <= demands.timestamp_after_max_ms
        and (producer_id >= 0 if attributes & COMPRESSION_MASK else count <= COUNTED_AT_ONCE_MAX)
    )


def check_batch(
    batch: Buffer, demands: Demands, produce_version: int = PRODUCE_VERSION_NEWEST, *, from_client: bool = True
) -> BatchHeader:
    """Return the header of the one batch in `batch`, checked; raises AppendRefused for the first error.

    Bytes after the batch that are no whole batch are ignored, as everywhere in Kafka.
    """
    header = check_shape(batch, produce_version)
    _check_place_and_size(header, demands.max_message_bytes, from_client)
    if not verify_crc(memoryview(batch)[: header.size_in_bytes]):
        raise AppendRefused(ErrorCode.CORRUPT_MESSAGE, f"the crc of the batch is not {header.crc:#010x}")
    if from_client:
        _check_counts(header)
        if header.compression == LZ4 and not lz4_blocks_are_independent(memoryview(batch)[HEADER_SIZE:]):
            raise _invalid("lz4 blocks depend on each other, which the Java client does not read")
    return header


def check_head(batch: Buffer, max_message_bytes: int, produce_version: int) -> None:
    """Run the checks of check_batch that come before reading the whole of a client's batch."""
    _check_place_and_size(check_shape(batch, produce_version), max_message_bytes, from_client=True)


def walk(batch: Buffer, config: LogConfig, now_ms: int, produce_version: int = PRODUCE_VERSION_NEWEST) -> bytearray:
    """Return the batch to append, after a check of every record; `batch` itself is not changed.

    Raises AppendRefused, with one record error per invalid record, and checks none after the last of
    RECORD_ERRORS_MAX. Runs check_batch first, so the order of errors is Kafka's.
    """
    walking = walk_in_steps(batch, config, now_ms, produce_version)
    try:
        while True:
            step = next(walking)
            if callable(step):
                step()
    except StopIteration as end:
        walked: bytearray = end.value
        return walked


def walk_in_steps(batch: Buffer, config: LogConfig, now_ms: int, produce_version: int) -> Walking:
    """Run `walk` in steps, with a bounded piece of work between two pauses."""
    demands = Demands.of(config)
    header = check_batch(batch, demands, produce_version)
    whole = memoryview(batch)[: header.size_in_bytes]
    try:
        findings = None
        if not _needs_whole_records(header, demands, now_ms):
            findings = yield from _look_at_times(whole, header, demands, now_ms)
        if findings is None:
            findings = yield from _look_at_records(whole, header, demands, now_ms)
        if findings.errors:
            raise _refused_records(findings)
        rewritten = yield from _recompress(whole, header, findings, demands, _level(config))
    except DecodeError as damage:
        raise _invalid(f"the records cannot be read: {damage}") from damage
    if demands.timestamp_type == CREATE_TIME:  # log-append time is set when the batch is appended
        set_max_timestamp(rewritten, 0, CREATE_TIME, findings.max_timestamp)
    return rewritten


class _Findings(NamedTuple):
    errors: list[RecordError]
    bad_timestamps: bool
    max_timestamp: int
    dense: bool  # the records are numbered 0, 1, 2 …
    unread: int  # records after the last listed error, not checked


def _codec(compression_type: str) -> int:
    if compression_type == "producer":
        return PRODUCER_COMPRESSION
    return NONE if compression_type == "uncompressed" else COMPRESSION_IDS[compression_type]


def check_shape(batch: Buffer, produce_version: int) -> BatchHeader:
    """Return the header of the one batch in `batch`, otherwise unchecked; AppendRefused if it is not one batch."""
    try:
        size = next_batch_size(batch, 0, len(batch))
        if size is None:
            raise _invalid("no complete batch")
        if batch[MAGIC_POSITION] != MAGIC:
            raise _invalid(f"message format v{batch[MAGIC_POSITION]}, only v2 is accepted")
        if size < HEADER_SIZE:
            raise AppendRefused(ErrorCode.CORRUPT_MESSAGE, f"a batch of {size} bytes is smaller than its header")
        header = parse_header(batch)
        if header.compression == ZSTD and produce_version < _ZSTD_SINCE_PRODUCE_VERSION:
            raise AppendRefused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd in Produce v{produce_version}")
        if next_batch_size(batch, size, len(batch)) is not None:
            raise _invalid("more than one batch for the partition")
    except DecodeError as damage:
        raise AppendRefused(ErrorCode.CORRUPT_MESSAGE, str(damage)) from damage
    if header.compression not in COMPRESSION_NAMES:
        raise _invalid(f"compression codec {header.compression} does not exist")
    return header


def _check_place_and_size(header: BatchHeader, max_message_bytes: int, from_client: bool) -> None:
    if from_client and header.base_offset != 0:
        raise _invalid(f"base offset {header.base_offset} where a producer sends 0")
    if header.size_in_bytes > max_message_bytes:
        raise _too_large(header.size_in_bytes, max_message_bytes)


def _check_counts(header: BatchHeader) -> None:
    if header.last_offset_delta < 0:
        raise _invalid(f"last offset delta {header.last_offset_delta}")
    if header.records_count <= 0:
        raise _invalid(f"{header.records_count} records")
    if header.records_count != header.last_offset_delta + 1:
        raise _invalid(f"{header.records_count} records on {header.last_offset_delta + 1} offsets")
    if header.is_control:
        raise _invalid("clients may not write control batches")
    if header.has_producer_id and header.base_sequence < 0:
        raise _invalid(f"producer {header.producer_id} sent base sequence {header.base_sequence}")


def _look_at_records(
    batch: memoryview, header: BatchHeader, demands: Demands, now_ms: int
) -> Generator[None, None, _Findings]:
    errors: list[RecordError] = []
    bad_timestamps, dense, max_timestamp, unread = False, True, NO_TIMESTAMP, 0
    index = 0
    for record in iter_records_with_pauses(batch, max_record_bytes=_max_record_bytes(header, demands)):
        if record is None:
            yield
            continue
        if len(errors) == RECORD_ERRORS_MAX:
            unread = header.records_count - index
            break
        if demands.compacted and record.key is None:
            errors.append((index, "a compacted topic needs a key in every record"))
        elif complaint := _timestamp_complaint(record.timestamp, header, demands, now_ms):
            errors.append((index, complaint))
            bad_timestamps = True
        dense = dense and record.offset == index
        max_timestamp = max(max_timestamp, record.timestamp)
        index += 1
        if index % _RECORDS_A_STEP == 0:
            yield
    return _Findings(errors, bad_timestamps, max_timestamp, dense, unread)


def _look_at_times(
    batch: memoryview, header: BatchHeader, demands: Demands, now_ms: int
) -> Generator[None, None, _Findings | None]:
    """Return the findings where only the largest timestamp is needed; None if some timestamp is invalid."""
    dense, smallest, largest, next_offset = True, 0, NO_TIMESTAMP, 0
    for found in iter_times(batch, max_record_bytes=_max_record_bytes(header, demands)):
        if found is None:
            yield
            continue
        offset, timestamp = found
        dense = dense and offset == next_offset
        next_offset += 1
        if timestamp > largest:
            largest = timestamp
        elif timestamp < smallest:
            smallest = timestamp
        if next_offset % _RECORDS_A_STEP == 0:
            yield
    if smallest < -LONG_MAX or largest > min(LONG_MAX, now_ms + demands.timestamp_after_max_ms):
        return None
    return _Findings([], False, largest, dense, 0)


def _timestamp_complaint(timestamp: int, header: BatchHeader, demands: Demands, now_ms: int) -> str | None:
    if demands.timestamp_type == CREATE_TIME and timestamp != NO_TIMESTAMP:
        if now_ms - timestamp > demands.timestamp_before_max_ms:
            return f"timestamp {timestamp} is more than {demands.timestamp_before_max_ms} ms before {now_ms}"
        if timestamp - now_ms > demands.timestamp_after_max_ms:
            return f"timestamp {timestamp} is more than {demands.timestamp_after_max_ms} ms after {now_ms}"
    elif header.timestamp_type == LOG_APPEND_TIME:
        return "a producer may not claim log-append time"
    if not -LONG_MAX <= timestamp <= LONG_MAX:
        return f"timestamp {timestamp} does not fit 64 bits"
    return None


def _level(config: LogConfig) -> int | None:
    if config.compression_type == "lz4" and config.compression_lz4_level == LogConfig().compression_lz4_level:
        return None  # Kafka's default of 9 means the fast compressor, every other level the high-compression one
    levels = {
        "gzip": config.compression_gzip_level,
        "lz4": config.compression_lz4_level,
        "zstd": config.compression_zstd_level,
    }
    return levels.get(config.compression_type)


def _recompress(
    batch: memoryview, header: BatchHeader, findings: _Findings, demands: Demands, level: int | None
) -> Walking:
    target = header.compression if demands.compression == PRODUCER_COMPRESSION else demands.compression
    renumber = header.compression != NONE and not findings.dense
    if target == header.compression and not renumber:
        return bytearray(batch)
    rebuilding = Rebuilding(header)
    index = 0
    for record in iter_records_with_pauses(batch, max_bytes=REBUILT_BYTES_MAX):
        if record is not None:
            if record.value is not None and rebuilding.size + len(record.value) >= _LARGE_BYTES_MIN:
                yield GROWS  # before it has grown
            rebuilding.add(record._replace(offset=index))
            index += 1
        if record is None or index % _RECORDS_A_STEP == 0:
            yield None if rebuilding.size < _LARGE_BYTES_MIN else GROWS
    if rebuilding.size >= _LARGE_BYTES_MIN:
        yield GROWS
    sealed: list[bytearray] = []
    if rebuilding.size <= _COMPRESSED_HERE_BYTES_MAX:
        sealed.append(rebuilding.seal(target, level))
    else:
        yield lambda: sealed.append(rebuilding.seal(target, level))
    (rebuilt,) = sealed
    if len(rebuilt) > demands.max_message_bytes:
        raise _too_large(len(rebuilt), demands.max_message_bytes)
    return rebuilt


def _refused_records(findings: _Findings) -> AppendRefused:
    if findings.bad_timestamps:
        return AppendRefused(ErrorCode.INVALID_TIMESTAMP, _INVALID_TIMESTAMP, findings.errors)
    shown = "; ".join(f"record {index}: {what}" for index, what in findings.errors[:_RECORD_ERRORS_SHOWN])
    more = len(findings.errors) - _RECORD_ERRORS_SHOWN
    shown += f"; and {more} more" if more > 0 else ""
    shown += f"; the {findings.unread} records after them were not checked" if findings.unread else ""
    return _invalid(shown, findings.errors)


def _invalid(message: str, record_errors: list[RecordError] | None = None) -> AppendRefused:
    return AppendRefused(ErrorCode.INVALID_RECORD, message, record_errors)


def _too_large(size: int, max_message_bytes: int) -> AppendRefused:
    return AppendRefused(ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {size} bytes, the topic accepts {max_message_bytes}")

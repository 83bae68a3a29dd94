"""The checks of an incoming batch, in Kafka's order, and the walk that looks at records and rewrites."""

import struct
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records import compression
from barnabas.protocol.records.batch import (
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    compute_crc,
    encode_batch,
    parse_header,
    set_max_timestamp,
    verify_crc,
)
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker
from barnabas.protocol.records.record import BatchRecord, iter_records
from barnabas.storage.config import LogConfig
from barnabas.storage.log.log_validator import (
    COUNTED_AT_ONCE_MAX,
    RECORD_ERRORS_MAX,
    Demands,
    check_batch,
    is_plain,
    needs_walk,
    walk,
)
from barnabas.storage.refusals import AppendRefused
from tests.support.records.batches import without_max_timestamp

NOW = 1_700_000_000_000
HOUR_MS = 3_600_000
DEFAULTS = LogConfig()
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))
LOG_APPEND = LogConfig(message_timestamp_type="LogAppendTime")


def records(*values: bytes, timestamp: int = NOW, key: bytes | None = b"k") -> list[NewRecord]:
    return [NewRecord(key, value, (), timestamp) for value in values]


def batch_of(*values: bytes, timestamp: int = NOW, key: bytes | None = b"k", **fields: Any) -> bytearray:
    return build_batch(records(*values, timestamp=timestamp, key=key), **fields)


def with_header(batch: bytearray, **fields: int) -> bytearray:
    """The batch with some header fields changed and its CRC right again."""
    changed = bytearray(batch)
    HEADER.pack_into(changed, 0, *parse_header(batch)._replace(**fields))
    struct.pack_into(">I", changed, 17, compute_crc(changed))
    return changed


def check_code(batch: bytes | bytearray, config: LogConfig = DEFAULTS, produce_version: int = 13) -> ErrorCode:
    with pytest.raises(AppendRefused) as refused:
        check_batch(batch, Demands.of(config), produce_version)
    assert refused.value.record_errors == []
    return refused.value.code


def walk_refusal(batch: bytearray, config: LogConfig) -> AppendRefused:
    with pytest.raises(AppendRefused) as refused:
        walk(batch, config, NOW)
    return refused.value


def test_a_sound_batch_passes() -> None:
    batch = batch_of(b"a", b"b", producer_id=4, producer_epoch=0, base_sequence=0)
    assert check_batch(batch, Demands.of(LogConfig())) == parse_header(batch)


GOOD = batch_of(b"a", b"b")
PRODUCER: dict[str, Any] = {"producer_id": 4, "producer_epoch": 0, "base_sequence": 0}
ZSTD_BATCH = batch_of(b"a", compression=compression.ZSTD, **PRODUCER)


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (GOOD[:-1], ErrorCode.INVALID_RECORD),
        (struct.pack(">qi", 0, 13) + bytes(40), ErrorCode.CORRUPT_MESSAGE),
        (GOOD[:16] + b"\x03" + GOOD[17:], ErrorCode.CORRUPT_MESSAGE),
        (GOOD[:16] + b"\x01" + GOOD[17:], ErrorCode.INVALID_RECORD),
        (GOOD[:8] + struct.pack(">i", 48) + GOOD[12:60], ErrorCode.CORRUPT_MESSAGE),
        (GOOD + GOOD, ErrorCode.INVALID_RECORD),
        (GOOD[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (batch_of(b"a", base_offset=1), ErrorCode.INVALID_RECORD),
        (with_header(GOOD, attributes=5), ErrorCode.INVALID_RECORD),
        (with_header(GOOD, last_offset_delta=-1), ErrorCode.INVALID_RECORD),
        (with_header(GOOD, records_count=0), ErrorCode.INVALID_RECORD),
        (with_header(GOOD, records_count=3), ErrorCode.INVALID_RECORD),
        (with_header(GOOD, attributes=0x20), ErrorCode.INVALID_RECORD),
        (with_header(GOOD, producer_id=7), ErrorCode.INVALID_RECORD),
    ],
)
def test_an_invalid_header_gets_kafkas_code(batch: bytearray, code: ErrorCode) -> None:
    assert check_code(batch) == code


def test_bytes_behind_the_batch_that_are_no_batch_are_overlooked() -> None:
    assert check_batch(GOOD + b"\0" * 5, Demands.of(LogConfig())) == parse_header(GOOD)


def test_zstd_needs_produce_version_7() -> None:
    assert check_code(ZSTD_BATCH, produce_version=6) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert check_batch(ZSTD_BATCH, Demands.of(LogConfig()), 7) == parse_header(ZSTD_BATCH)


def test_lz4_that_the_java_client_could_not_read_is_refused() -> None:
    batch = batch_of(b"v" * 1000, compression=compression.LZ4)
    check_batch(batch, Demands.of(DEFAULTS))
    batch[HEADER_SIZE + 4] &= ~0x20  # the frame's flag that says that its blocks are independent
    assert check_code(with_header(batch)) == ErrorCode.INVALID_RECORD


def test_the_largest_batch_is_taken_and_one_byte_more_is_not() -> None:
    assert check_batch(GOOD, Demands.of(LogConfig(max_message_bytes=len(GOOD))))
    assert check_code(GOOD, LogConfig(max_message_bytes=len(GOOD) - 1)) == ErrorCode.MESSAGE_TOO_LARGE


def test_the_first_check_that_fails_answers() -> None:
    """Base offset before size before CRC before counts."""
    batch = with_header(GOOD, records_count=9)
    batch[-1] ^= 1
    small = LogConfig(max_message_bytes=10)
    assert check_code(bytes(7) + b"\x01" + batch[8:], small) == ErrorCode.INVALID_RECORD
    assert check_code(batch, small) == ErrorCode.MESSAGE_TOO_LARGE
    assert check_code(batch) == ErrorCode.CORRUPT_MESSAGE


def test_a_coordinator_may_write_markers() -> None:
    marker = end_txn_marker(True, 4000, 3, 12, NOW)
    assert check_batch(marker, Demands.of(LogConfig()), from_client=False).is_control
    assert check_code(marker) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("config", "batch", "is_needed"),
    [
        (LogConfig(), batch_of(b"a"), False),
        (LogConfig(), batch_of(b"a", compression=compression.LZ4), True),
        (LogConfig(), batch_of(b"a", compression=compression.LZ4, **PRODUCER), False),
        (LogConfig(), batch_of(*[b"a"] * COUNTED_AT_ONCE_MAX), False),
        (LogConfig(), batch_of(*[b"a"] * (COUNTED_AT_ONCE_MAX + 1)), True),
        (COMPACTED, batch_of(b"a"), True),
        (LogConfig(message_timestamp_before_max_ms=1000), batch_of(b"a"), True),
        (LogConfig(), batch_of(b"a", timestamp=NOW + HOUR_MS), False),
        (LogConfig(), batch_of(b"a", timestamp=NOW + HOUR_MS + 1), True),
        (LogConfig(), batch_of(b"a", timestamp_type=LOG_APPEND_TIME), True),
        (LOG_APPEND, batch_of(b"a", timestamp=NOW + 10 * HOUR_MS), False),
        (LOG_APPEND, batch_of(b"a", timestamp_type=LOG_APPEND_TIME), True),
        (LogConfig(compression_type="zstd"), batch_of(b"a"), True),
        (LogConfig(compression_type="zstd"), ZSTD_BATCH, False),
        (LogConfig(compression_type="uncompressed"), batch_of(b"a"), False),
        (LogConfig(compression_type="uncompressed"), ZSTD_BATCH, True),
        (LogConfig(), without_max_timestamp(batch_of(b"a", compression=compression.LZ4, **PRODUCER)), True),
        (LogConfig(), batch_of(b"a", timestamp=-1), False),
        (LOG_APPEND, without_max_timestamp(batch_of(b"a")), False),
        (LOG_APPEND, batch_of(b"a", compression=compression.LZ4), False),
        (LogConfig(max_decompressed_message_bytes=1000), batch_of(b"a"), False),
        (LogConfig(max_decompressed_message_bytes=1000), ZSTD_BATCH, True),
        (LogConfig(max_decompressed_message_bytes=1000, compression_type="zstd"), ZSTD_BATCH, True),
    ],
)
def test_records_are_walked_only_where_the_topic_asks(config: LogConfig, batch: bytearray, is_needed: bool) -> None:
    assert needs_walk(parse_header(batch), Demands.of(config), NOW) is is_needed
    assert not (is_needed and is_plain(batch, Demands.of(config), NOW)), "a glance says less, never more"


@pytest.mark.parametrize("codec", range(5))
def test_a_walk_that_changes_nothing_returns_the_same_bytes(codec: int) -> None:
    batch = batch_of(b"a", b"b", compression=codec, producer_id=1, producer_epoch=2, base_sequence=3)
    assert walk(batch, COMPACTED, NOW) == batch


@pytest.mark.parametrize("config", [LogConfig(), COMPACTED, LogConfig(compression_type="gzip")])
def test_a_record_is_as_large_as_the_topic_takes_once_it_is_decompressed(config: LogConfig) -> None:
    batch = batch_of(b"a" * 100, compression=compression.ZSTD)
    size = 108  # of the record: its key, its value, and one byte for everything else but the value's length
    assert walk(batch, config._replace(max_decompressed_message_bytes=size), NOW)
    refused = walk_refusal(batch, config._replace(max_decompressed_message_bytes=size - 1))
    assert (refused.code, refused.record_errors) == (ErrorCode.INVALID_RECORD, [])


@pytest.mark.parametrize("config", [LogConfig(), COMPACTED])
def test_a_record_that_was_never_compressed_may_be_larger(config: LogConfig) -> None:
    batch = batch_of(b"a" * 100)
    assert walk(batch, config._replace(max_decompressed_message_bytes=10), NOW) == batch


def at(*timestamps: int, null_keys: bool = False) -> bytearray:
    """Records of these times, every other of them without a key."""
    keys = [None, b"k"] if null_keys else [b"k"]
    return build_batch([(keys[number % len(keys)], b"v", (), time) for number, time in enumerate(timestamps)])


def unreadable(codec: int) -> bytearray:
    return encode_batch(parse_header(batch_of(b"a", compression=codec)), b"\xff" * 40)


CLAIMED = batch_of(b"a", b"b", timestamp_type=LOG_APPEND_TIME)
LONG_MAX = (1 << 63) - 1
ENDLESS = COMPACTED._replace(message_timestamp_after_max_ms=LONG_MAX)
DAMAGED = without_max_timestamp(batch_of(b"a"))
DAMAGED[-1] ^= 1


@pytest.mark.parametrize(
    ("batch", "config", "code", "records_named"),
    [
        (at(NOW, NOW, NOW, null_keys=True), COMPACTED, ErrorCode.INVALID_RECORD, [0, 2]),
        (
            at(NOW, NOW + 1, null_keys=True),
            COMPACTED._replace(message_timestamp_after_max_ms=0),
            ErrorCode.INVALID_TIMESTAMP,
            [0, 1],
        ),
        (CLAIMED, LOG_APPEND, ErrorCode.INVALID_TIMESTAMP, [0, 1]),
        (without_max_timestamp(at(NOW, NOW + HOUR_MS + 1, NOW + HOUR_MS)), DEFAULTS, ErrorCode.INVALID_TIMESTAMP, [1]),
        (
            encode_batch(parse_header(at(5, 6))._replace(base_timestamp=LONG_MAX), bytes(at(5, 6))[HEADER_SIZE:]),
            ENDLESS,
            ErrorCode.INVALID_TIMESTAMP,
            [1],
        ),
        (DAMAGED, DEFAULTS, ErrorCode.CORRUPT_MESSAGE, []),
        (
            batch_of(b"a" * 5000, compression=compression.ZSTD),
            LogConfig(compression_type="uncompressed", max_message_bytes=1000),
            ErrorCode.MESSAGE_TOO_LARGE,
            [],
        ),
        *((unreadable(codec), COMPACTED, ErrorCode.INVALID_RECORD, []) for codec in range(5)),
    ],
    ids=[
        "null keys on a compacted topic",
        "one bad timestamp decides the code among null keys",
        "log append time claimed where the topic stamps it",
        "after the limit, where the header has no largest",
        "a timestamp that does not fit",
        "a wrong CRC, seen before the largest timestamp is filled in",
        "one that grows over the limit",
        *(f"records that cannot be read, codec {codec}" for codec in range(5)),
    ],
)
def test_a_walk_refuses(batch: bytearray, config: LogConfig, code: ErrorCode, records_named: list[int]) -> None:
    refused = walk_refusal(batch, config)
    assert (refused.code, [index for index, _ in refused.record_errors]) == (code, records_named)


def test_a_walk_corrects_the_largest_timestamp_and_takes_a_claim_of_log_append_time_back() -> None:
    batch = batch_of(b"a", b"b", timestamp=NOW - 7)
    set_max_timestamp(batch, 0, 0, NOW + 99 * HOUR_MS)
    walked, unclaimed = walk(batch, DEFAULTS, NOW), walk(CLAIMED, DEFAULTS, NOW)
    assert (parse_header(walked).max_timestamp, parse_header(unclaimed).timestamp_type) == (NOW - 7, 0)
    assert verify_crc(walked)
    assert verify_crc(unclaimed)


def test_a_refusal_names_so_many_records_and_looks_at_no_more() -> None:
    batch = batch_of(*[b""] * 3 * RECORD_ERRORS_MAX, key=None, compression=compression.ZSTD)
    refused = walk_refusal(batch, COMPACTED)
    assert [index for index, _ in refused.record_errors] == list(range(RECORD_ERRORS_MAX))
    assert f"{2 * RECORD_ERRORS_MAX} records after them" in refused.message


def test_every_record_is_named_where_there_is_just_room() -> None:
    refused = walk_refusal(batch_of(*[b""] * RECORD_ERRORS_MAX, key=None), COMPACTED)
    assert len(refused.record_errors) == RECORD_ERRORS_MAX
    assert "after them" not in refused.message


def test_timestamps_before_and_after_the_limits_are_named() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=500)
    times = [NOW, NOW - 1000, NOW - 1001, NOW + 500, NOW + 501, -1]
    refused = walk_refusal(at(*times), config)
    assert refused.code == ErrorCode.INVALID_TIMESTAMP
    assert refused.message == "One or more records have been rejected due to invalid timestamp"
    assert [index for index, _ in refused.record_errors] == [2, 4]
    assert all(str(times[index]) in complaint for index, complaint in refused.record_errors)


@pytest.mark.parametrize("codec", range(5))
def test_a_largest_timestamp_that_nobody_filled_in_is_that_of_the_records(codec: int) -> None:
    times = [NOW, NOW + 9, NOW - 50, NOW + 3]
    batch = build_batch([(b"k", b"v" * 9, (), timestamp) for timestamp in times], compression=codec)
    walked = walk(without_max_timestamp(bytearray(batch)), LogConfig(), NOW)
    assert walked == batch


@pytest.mark.parametrize("source", range(5))
@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_batch_is_compressed_anew_as_the_topic_asks(source: int, target: str) -> None:
    batch = build_batch(
        [(b"k%d" % index, b"v" * index, [("h", b"x")], NOW + index) for index in range(50)],
        compression=source,
        producer_id=4000,
        producer_epoch=3,
        base_sequence=7,
        transactional=True,
    )
    original = bytes(batch)

    walked = walk(batch, LogConfig(compression_type=target), NOW)

    before, after = parse_header(batch), parse_header(walked)
    assert after.compression == (0 if target == "uncompressed" else compression.COMPRESSION_IDS[target])
    assert list(iter_records(walked)) == list(iter_records(batch))
    changed = {"batch_length": 0, "crc": 0, "attributes": 0}
    assert after._replace(**changed) == before._replace(**changed)
    assert after.is_transactional
    assert verify_crc(walked)
    assert batch == original


def test_compressed_records_that_number_themselves_oddly_are_numbered_anew() -> None:
    header = parse_header(batch_of(b"a", b"b", compression=compression.GZIP))
    area = bytes(build_batch(records(b"a", b"b")))[61:]
    odd = bytearray(area)
    odd[area.index(b"\x02", 8)] = 0x0A  # the second record's offset delta: 1 becomes 5
    batch = encode_batch(header, compression.compress(compression.GZIP, odd))
    assert [record.offset for record in iter_records(batch)] == [0, 5]
    walked = walk(batch, COMPACTED, NOW)
    assert list(iter_records(walked)) == [BatchRecord(0, NOW, b"k", b"a", []), BatchRecord(1, NOW, b"k", b"b", [])]

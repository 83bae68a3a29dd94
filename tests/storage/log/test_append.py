"""Appending to a partition: what is written, what is answered, what is refused, and that a refusal leaves no trace."""

import struct
from itertools import product
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.producer_snapshot import decode
from barnabas.protocol.records import compression
from barnabas.protocol.records.batch import HEADER_SIZE, compute_crc, iter_batches, parse_header, verify_crc
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.control import end_txn_marker
from barnabas.storage.config import LogConfig
from barnabas.storage.log.append import Appender, AppendOrigin, AppendResult
from barnabas.storage.log.log_validator import walk, walk_in_steps
from barnabas.storage.producers.encoded_producers import EncodedProducers
from barnabas.storage.refusals import AppendRefused
from tests.support.worlds.log import START_MS, LogWorld, open_world

PID = 7


def stored(world: LogWorld) -> bytes:
    """The log file as it is."""
    return world.files.open(f"{world.path}/{0:020d}.log").pread(1 << 20, 0)


def code_of(world: LogWorld, *values: bytes, **fields: Any) -> ErrorCode:
    """The code an append is refused with; nothing of it is left."""
    before = stored(world), world.log.log_end_offset, world.log.producers.to_snapshot()
    with pytest.raises(AppendRefused) as refused:
        world.append(*values, **fields)
    assert (stored(world), world.log.log_end_offset, world.log.producers.to_snapshot()) == before
    return refused.value.code


def test_batches_follow_one_another_without_gaps(world: LogWorld) -> None:
    assert world.append(b"a", b"b") == AppendResult(0, 1, -1, 0, False)
    assert world.append(b"c") == AppendResult(2, 2, -1, 0, False)
    assert [(record.offset, record.value) for record in world.records()] == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert world.log.log_end_offset == world.log.high_watermark == world.log.last_stable_offset == 3


def test_offset_and_leader_epoch_are_set_in_place_and_nothing_else(world: LogWorld) -> None:
    world.append(b"first")
    sent = build_batch([(b"k", b"v", (), START_MS)], compression=compression.LZ4)
    world.leader_epoch = 9
    batch = memoryview(bytearray(sent))
    world.append_batch(batch)
    ((_, _), (position, header)) = iter_batches(stored(world))
    kept = stored(world)[position:]
    assert (header.base_offset, header.partition_leader_epoch) == (1, 9)
    assert kept[8:12] + kept[16:] == sent[8:12] + sent[16:]
    assert verify_crc(kept)


def test_log_append_time_is_stamped_with_a_right_crc() -> None:
    world = open_world(message_timestamp_type="LogAppendTime")
    result = world.append(b"a", b"b", timestamp=5)
    assert result.log_append_time_ms == START_MS
    assert [record.timestamp for record in world.records()] == [START_MS, START_MS]
    assert verify_crc(stored(world))


def test_a_duplicate_is_answered_with_the_first_offset_and_the_stored_timestamp(world: LogWorld) -> None:
    for sequence in range(6):
        world.append(b"v", producer_id=PID, epoch=0, sequence=sequence, timestamp=START_MS - sequence)
    assert world.append(b"v", producer_id=PID, epoch=0, sequence=2) == AppendResult(2, 2, START_MS - 2, 0, True)
    assert world.log.log_end_offset == 6
    assert code_of(world, b"v", producer_id=PID, epoch=0, sequence=0) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producer_refusals_have_kafkas_codes(world: LogWorld) -> None:
    world.append(b"v", producer_id=PID, epoch=3, sequence=0)
    assert code_of(world, b"v", producer_id=PID, epoch=3, sequence=2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(world, b"v", producer_id=PID, epoch=2, sequence=1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert code_of(world, b"v", producer_id=PID, epoch=4, sequence=1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_larger_than_the_topic_takes_or_than_a_segment_is_refused() -> None:
    world = open_world(max_message_bytes=200, segment_bytes=150)
    assert code_of(world, b"v" * 200) == ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(world, b"v" * 100) == ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_compacted_topic_refuses_null_keys_and_keeps_everything() -> None:
    world = open_world(cleanup_policy=frozenset({"compact"}), segment_bytes=200, retention_ms=0)
    world.append(b"1", key=b"k")
    world.append(b"2", key=b"k")
    assert code_of(world, b"3", key=None) == ErrorCode.INVALID_RECORD
    assert world.log.apply_retention(START_MS * 2) == []
    assert world.values() == [b"1", b"2"]


def test_a_batch_is_compressed_anew_where_the_topic_requires_it() -> None:
    world = open_world(compression_type="zstd", values=[b"a" * 1000])
    world.append(b"b" * 1000, compression=compression.GZIP)
    assert [header.compression for _, header in iter_batches(stored(world))] == [compression.ZSTD] * 2
    assert world.values() == [b"a" * 1000, b"b" * 1000]


def test_a_batch_walked_beforehand_is_not_walked_again() -> None:
    world = open_world(compression_type="gzip")
    batch = walk(build_batch([(b"k", b"v", (), START_MS)]), world.config, START_MS)
    result = world.log.append(batch, leader_epoch=0, now_ms=START_MS, walked=True)
    assert result.base_offset == 0
    assert world.values() == [b"v"]


@pytest.mark.parametrize("target", ["producer", "gzip"])
def test_a_walk_pauses_however_many_records_there_are(target: str) -> None:
    config = open_world(compression_type=target, cleanup_policy=frozenset({"compact"})).config
    batch = build_batch([(b"k", None, (), START_MS)] * 10_000, compression=4)
    pauses = 0
    for job in walk_in_steps(batch, config, START_MS, 13):
        if job is None:
            pauses += 1
        elif callable(job):
            job()
    assert pauses >= 10_000 // 64 * (2 if target == "gzip" else 1)


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_an_invalid_batch_is_refused_without_a_walk(magic: int) -> None:
    """An old client's message set, say: the answer is append's to give."""
    world = open_world(compression_type="gzip")
    batch = build_batch([(b"k", b"v", (), START_MS)])
    batch[16] = magic
    assert not world.log.needs_walk(batch, START_MS)
    with pytest.raises(AppendRefused):
        world.append_batch(batch)


def test_settings_take_effect_with_the_next_append(world: LogWorld) -> None:
    world.append(b"v" * 100)
    world.log.config = LogConfig(max_message_bytes=100)
    assert code_of(world, b"v" * 100) == ErrorCode.MESSAGE_TOO_LARGE


def test_a_segment_is_rolled_before_it_grows_too_large() -> None:
    world = open_world(segment_bytes=200, values=[b"%d" % number * 50 for number in range(4)])
    assert world.segments() == [0, 1, 2, 3]
    assert {f"{base:020d}.snapshot" for base in (1, 2, 3)} <= set(world.names())
    assert len(world.values()) == 4


def test_a_segment_is_rolled_when_its_time_is_over() -> None:
    world = open_world(segment_ms=1000)
    world.append(b"a", timestamp=START_MS)
    world.append(b"b", timestamp=START_MS + 1000)
    world.append(b"c", timestamp=START_MS + 1001)
    assert world.segments() == [0, 2]


def test_a_segment_is_rolled_when_its_index_is_full() -> None:
    world = open_world(segment_index_bytes=24, index_interval_bytes=0, values=[b"%d" % number for number in range(9)])
    assert len(world.segments()) > 2
    assert len(world.values()) == 9


def test_jitter_spreads_rolls_and_is_the_same_every_time() -> None:
    def rolled_at(jitter_ms: int) -> int:
        world = open_world(segment_ms=100_000, segment_jitter_ms=jitter_ms)
        world.append(b"a", timestamp=START_MS)
        for waited_ms in range(0, 110_000, 100):
            world.append(b"b", timestamp=START_MS + waited_ms)
            if any(name.endswith(".snapshot") for name in world.names()):
                return waited_ms
        raise AssertionError("never rolled")

    assert rolled_at(0) == 100_100
    assert 0 < rolled_at(100_000) < 100_000
    assert rolled_at(100_000) == rolled_at(100_000)


def test_leader_epochs_are_noted_when_something_is_appended_in_them(world: LogWorld) -> None:
    world.append(b"a", b"b")
    world.leader_epoch = 4
    world.log.set_leader_epoch(4)
    assert [world.log.end_offset_for_epoch(epoch) for epoch in (4, 2)] == [(4, 2), (0, 2)]
    world.append(b"c")
    ends = [world.log.end_offset_for_epoch(epoch) for epoch in (0, 3, 4, 5, -1)]
    assert ends == [(0, 2), (0, 2), (4, 3), (-1, -1), (-1, -1)]


def test_with_two_replicas_required_the_high_watermark_never_moves() -> None:
    world = open_world(min_insync_replicas=2, values=[b"a"])
    assert not world.log.enough_replicas
    assert (world.log.log_end_offset, world.log.high_watermark, world.log.last_stable_offset) == (1, 0, 0)
    assert world.records() == []
    world.log.config = LogConfig()
    assert world.log.enough_replicas
    assert world.values() == [b"a"]


def test_a_client_may_not_write_markers(world: LogWorld) -> None:
    with pytest.raises(AppendRefused, match="INVALID_RECORD"):
        world.append_batch(end_txn_marker(True, PID, 0, 0, START_MS))


def test_expired_producers_are_dropped(world: LogWorld) -> None:
    world.append(b"v", producer_id=PID, epoch=5, sequence=0, timestamp=START_MS - 86_400_000)
    world.now_ms += 600_000
    assert len(world.log.remove_expired_producers(world.now_ms, 86_400_000)) == 1
    assert world.append(b"v", producer_id=PID, epoch=5, sequence=9).base_offset == 1


# --- the short way and the careful way ---


def variations() -> list[bytearray]:
    """Batches good and bad: every field a decision looks at, alone and in pairs."""
    good = build_batch([(b"k", b"v", (), START_MS)] * 2, producer_id=PID, producer_epoch=1, base_sequence=4)
    plain = build_batch([(None, b"v", (), START_MS)])
    changes = [
        ("base offset", 0, struct.pack(">q", 3)),
        ("magic", 16, b"\x01"),
        ("length", 8, struct.pack(">i", 60)),
        ("attributes: lz4", 21, b"\x00\x03"),
        ("attributes: unknown codec", 21, b"\x00\x06"),
        ("attributes: log-append time", 21, b"\x00\x08"),
        ("attributes: transactional", 21, b"\x00\x10"),
        ("attributes: control", 21, b"\x00\x20"),
        ("attributes: high bits", 21, b"\x01\x00"),
        ("last offset delta", 23, struct.pack(">i", -1)),
        ("max timestamp", 35, struct.pack(">q", START_MS + 3_600_001)),
        ("no max timestamp", 35, struct.pack(">q", -1)),
        ("max timestamp of no record", 35, struct.pack(">q", START_MS + 1)),
        ("max timestamp below the base timestamp", 35, struct.pack(">q", START_MS - 1)),
        ("base timestamp", 27, struct.pack(">q", -1)),
        ("no producer", 43, struct.pack(">q", -1)),
        ("other producer", 43, struct.pack(">q", 99)),
        ("old epoch", 51, struct.pack(">h", 0)),
        ("new epoch", 51, struct.pack(">h", 2)),
        ("no sequence", 53, struct.pack(">i", -1)),
        ("repeated", 53, struct.pack(">i", 2)),
        ("gap", 53, struct.pack(">i", 6)),
        ("count", 57, struct.pack(">i", 0)),
    ]
    found = [good, plain, good[:-1], good + good, good + b"\0\0\0"]
    for (_, first, value), (_, second, other) in product(changes, changes):
        batch = bytearray(good)
        batch[first : first + len(value)] = value
        batch[second : second + len(other)] = other
        struct.pack_into(">I", batch, 17, compute_crc(batch))
        found.append(batch)
    damaged, cut = bytearray(good), bytearray(good)
    damaged[-1] ^= 1
    cut[HEADER_SIZE] += 2  # the length of the first record
    struct.pack_into(">I", cut, 17, compute_crc(cut))
    lz4 = build_batch([(b"k", b"v" * 100, (), START_MS)], compression=compression.LZ4)
    dependent = bytearray(lz4)
    dependent[HEADER_SIZE + 4] &= ~0x20  # the flag that says that blocks are independent
    struct.pack_into(">I", dependent, 17, compute_crc(dependent))
    return [*found, damaged, cut, lz4, dependent]


SETTINGS: list[dict[str, object]] = [
    {},
    {"message_timestamp_type": "LogAppendTime"},
    {"compression_type": "uncompressed"},
    {"cleanup_policy": frozenset({"compact"})},
    {"max_message_bytes": 80},
    {"segment_bytes": 300},
]


@pytest.mark.parametrize(
    ("settings", "transactional"),
    [*((settings, False) for settings in SETTINGS), ({}, True)],
    ids=lambda value: (", ".join(value) or "defaults") if isinstance(value, dict) else f"transaction open: {value}",
)
def test_the_short_way_and_the_careful_way_agree(settings: dict[str, Any], transactional: bool) -> None:
    """Two partitions get the same batches, one of them with the short way closed; they never differ."""

    def prepared(*, careful: bool) -> LogWorld:
        world = open_world()
        for sequence in (0, 2):
            world.append(b"a", b"b", producer_id=PID, epoch=1, sequence=sequence, transactional=transactional)
        world.log.config = LogConfig()._replace(**settings)
        world.log.producers.encoded = EncodedProducers(world.log.producers._producers)
        if careful:
            world.log._appender._plain_attributes = frozenset()
        return world

    for batch in variations():
        outcomes = []
        for world in (prepared(careful=False), prepared(careful=True)):
            try:
                outcome: object = world.append_batch(bytearray(batch))
            except AppendRefused as refused:
                outcome = refused.code, refused.message, refused.record_errors
            log = world.log
            outcomes.append(
                (outcome, stored(world), log.log_end_offset, log.last_stable_offset, log.producers.to_snapshot())
            )
            assert sorted(decode(log.producers.snapshot())) == sorted(log.producers.to_snapshot())
        assert outcomes[0] == outcomes[1], batch.hex()


@pytest.mark.pure
def test_the_common_batch_takes_the_short_way(world: LogWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.append(b"v", producer_id=PID, epoch=0, sequence=0)
    monkeypatch.setattr(Appender, "_append_with_care", None)
    world.append(b"v", producer_id=PID, epoch=0, sequence=1)
    world.append(b"v", producer_id=PID, epoch=0, sequence=2, compression=compression.SNAPPY)
    world.append(b"v", producer_id=PID, epoch=0, sequence=3, compression=compression.LZ4)
    world.append(b"v", b"v")
    world.append(b"v", producer_id=PID, epoch=0, sequence=4, transactional=True)
    world.append(b"v", producer_id=PID, epoch=0, sequence=5, transactional=True)
    assert world.log.log_end_offset == 8
    assert world.log.last_stable_offset == 6
    assert parse_header(stored(world)).base_offset == 0


@pytest.mark.parametrize(
    "settings", [{}, {"message_timestamp_type": "LogAppendTime"}, {"segment_bytes": 200}, {"min_insync_replicas": 2}]
)
def test_a_coordinators_own_batch_is_written_as_one_that_is_looked_at(settings: dict[str, Any]) -> None:
    """Also where a transaction holds the last stable offset back; one that is too large is refused either way."""
    outcomes = []
    for own in (True, False):
        world = open_world(cleanup_policy=frozenset({"compact"}), max_message_bytes=300, **settings)
        world.append(b"t", producer_id=PID, epoch=0, sequence=0, transactional=True)
        results: list[object] = []
        for count in (1, 2, 9):
            batch = build_batch([(b"k", b"v" * 20, (), START_MS)] * count)
            fields: dict[str, Any] = {"leader_epoch": 3, "now_ms": START_MS}
            try:
                if own:
                    results.append(world.log.append_own(batch, count, START_MS, **fields))
                else:
                    results.append(world.log.append(batch, origin=AppendOrigin.COORDINATOR, **fields))
            except AppendRefused as refused:
                results.append(refused.code)
            results.append((world.log.log_end_offset, world.log.high_watermark, world.log.last_stable_offset))
        results += [stored(world), world.names(), world.log.end_offset_for_epoch(3)]
        outcomes.append(results)
    assert outcomes[0] == outcomes[1]

"""Produce: every way in which a request or its batches can be wrong."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records.builder import build_batch
from protocol.records.crc32c import crc32c
from tests.support.probes.wire import SILENCE_S, Target, comparable, frame

NOW = 1_700_000_000_000  # in the past: no clock takes it for the future. No topic deletes by time.

Data = bytes | None


def batch(*values: bytes | None, key: bytes | None = b"k", timestamp: int = NOW, **fields: Any) -> bytes:
    return bytes(build_batch([(key, value, (), timestamp) for value in values or (b"v",)], **fields))


def changed(data: bytes, position: int, new: bytes, *, sealed: bool = True) -> bytes:
    """A batch with bytes put over it; `sealed`: the checksum is right again."""
    result = bytearray(data)
    result[position : position + len(new)] = new
    if sealed:
        result[17:21] = struct.pack(">I", crc32c(bytes(result[21:])))
    return bytes(result)


def message_set(magic: int, value: bytes = b"v") -> bytes:
    """One message of the formats before batches."""
    stamp = struct.pack(">q", NOW) if magic else b""
    body = bytes([magic, 0]) + stamp + struct.pack(">ii", -1, len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


def request(
    target: Target, *partitions: tuple[str, int, Data], acks: int = -1, transactional_id: str | None = None
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=2000,
        topic_data=[
            TopicProduceData(
                name=topic,
                topic_id=target.topic_ids.get(topic, b"an unknown id !!"),
                partition_data=[PartitionProduceData(index=index, records=data)],
            )
            for topic, index, data in partitions
        ],
    )


def _one(topic: str, data: Data, *, version: int = 11, **options: Any) -> Callable[[Target], Any]:
    return lambda target: target.ask(request(target, (topic, 0, data), **options), version)


def _several(*partitions: tuple[str, int, Data], version: int = 11, **options: Any) -> Callable[[Target], Any]:
    return lambda target: target.ask(request(target, *partitions, **options), version)


def _in_turn(topic: str, *data: bytes, version: int = 11) -> Callable[[Target], Any]:
    return lambda target: [target.ask(request(target, (topic, 0, each)), version) for each in data]


def _unanswered(topic: str, data: bytes) -> Callable[[Target], Any]:
    """acks 0, and a Metadata request behind it: its answer is the first, or the connection is closed."""

    def probe(target: Target) -> Any:
        behind = MetadataRequest(topics=[])
        with target.connect() as wire:
            wire.send(frame(request(target, (topic, 0, data), acks=0), 11))
            first = wire.receive(SILENCE_S)
            wire.send(frame(behind, 1))
            answer = wire.answer_to(behind, 1)
            return first, answer if isinstance(answer, str) else comparable(answer)

    return probe


def _idempotent(sequence: int, *, producer: int, epoch: int = 0, count: int = 1) -> bytes:
    return batch(*[b"v"] * count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


_TWO_BATCHES = batch(b"a") + batch(b"b")
_THREE = batch(b"a", b"b", b"c")
_NO_TOPICS = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[])

PROBES: dict[str, Callable[[Target], Any]] = {
    "acks 2": _one("p", batch(), acks=2),
    "acks -2": _one("p", batch(), acks=-2),
    "acks 2 and an unknown partition": _several(("p", 0, batch()), ("p", 99, batch()), acks=2),
    "acks 0": _unanswered("p", batch()),
    "acks 0 and a bad batch": _unanswered("p", changed(batch(), 61, b"\1", sealed=False)),
    "acks 0 and an unknown topic": _unanswered("missing", batch()),
    "no topics": lambda target: target.ask(_NO_TOPICS, 11),
    "no partitions": lambda target: target.ask(
        ProduceRequest(acks=1, timeout_ms=1, topic_data=[TopicProduceData(name="p", partition_data=[])]), 11
    ),
    "empty records": _one("p", b""),
    "three bytes of records": _one("p", b"abc"),
    "a cut batch": _one("p", batch(b"x" * 100)[:-1]),
    "a header alone": _one("p", batch(b"x" * 100)[:61]),
    "a batch and half of one": _one("p", batch() + batch()[:30]),
    "two batches": _one("p", _TWO_BATCHES),
    "a message of magic 0": _one("p", message_set(0)),
    "a message of magic 1": _one("p", message_set(1)),
    "a longer message of magic 0": _one("p", message_set(0, b"v" * 100)),
    "a longer message of magic 1": _one("p", message_set(1, b"v" * 100)),
    "a long message of magic 0": _one("p", message_set(0, b"v" * 9000)),
    "a long batch of magic 3": _one("p", changed(batch(b"v" * 9000), 16, b"\3")),
    "a long batch that says it is short": _one("p", changed(batch(b"v" * 9000), 8, struct.pack(">i", 10))),
    "magic 3": _one("p", changed(batch(), 16, b"\3")),
    "a wrong checksum": _one("p", changed(batch(), 62, b"\1", sealed=False)),
    "a batch length of 10": _one("p", changed(batch(), 8, struct.pack(">i", 10))),
    "a batch length of -1": _one("p", changed(batch(), 8, struct.pack(">i", -1))),
    "base offset 5": _one("p", batch(base_offset=5)),
    "a last offset delta of -1": _one("p", changed(batch(), 23, struct.pack(">i", -1))),
    "a last offset delta that is too large": _one("p", changed(batch(), 23, struct.pack(">i", 7))),
    "no records counted": _one("p", changed(batch(), 57, struct.pack(">i", 0))),
    "too many records counted": _one("p", changed(_THREE, 57, struct.pack(">i", 4))),
    "a control batch": _one("p", batch(control=True)),
    "a transactional batch": _one("p", batch(transactional=True, producer_id=5, producer_epoch=0, base_sequence=0)),
    "a transactional batch among others": _several(
        ("p", 0, batch()), ("p", 1, batch(transactional=True, producer_id=5, producer_epoch=0, base_sequence=0))
    ),
    "a producer without a sequence": _one("p", batch(producer_id=77, producer_epoch=0)),
    "compression 5": _one("p", changed(batch(), 21, b"\0\5")),
    "compression 7": _one("p", changed(batch(), 21, b"\0\7")),
    "unused attribute bits": _one("p", changed(batch(), 21, b"\x7f\x80")),
    "a batch that says LogAppendTime": _one("p", batch(timestamp_type=1)),
    "a record of the far future": _one("p", batch(timestamp=NOW * 2)),
    "a record of the year 1970": _one("p", batch(timestamp=5)),
    "a record without a timestamp": _one("p", batch(timestamp=-1)),
    "a record of timestamp -2": _one("p", batch(timestamp=-2)),
    "zstd in version 6": _one("p", batch(compression=4), version=6),
    "zstd in version 7": _one("p", batch(compression=4), version=7),
    "gzip": _one("p", batch(compression=1)),
    "snappy": _one("p", batch(compression=2)),
    "lz4": _one("p", batch(compression=3)),
    "too large": _one("small", batch(b"x" * 500)),
    "too large and a wrong checksum": _one("small", changed(batch(b"x" * 500), 100, b"y", sealed=False)),
    "a null key on a compacted topic": _one("compacted", batch(b"a", b"b", key=None)),
    "a key on a compacted topic": _one("compacted", batch(b"a", b"b")),
    "a compressed null key on a compacted topic": _one("compacted", batch(b"a", key=None, compression=1)),
    "a LogAppendTime topic": _in_turn("stamped", batch(b"a"), batch(b"b", compression=1)),
    "a LogAppendTime topic and the far future": _one("stamped", batch(timestamp=NOW * 2)),
    "a topic that compresses": _in_turn("zstd", batch(b"a"), batch(b"b", compression=1), batch(b"c", compression=4)),
    "a topic that compresses and damaged gzip": _one("zstd", changed(batch(b"a" * 90, compression=1), 70, b"zzzz")),
    "a topic with a strict clock": _several(("strict", 0, batch(timestamp=5)), ("strict", 1, batch(timestamp=NOW * 2))),
    "unknown topics and partitions": _several(
        ("missing", 0, batch()), ("p", 99, batch()), ("p", -1, batch()), ("p", 1, batch())
    ),
    "an unknown topic id": _several(("missing", 0, batch()), ("p", 1, batch()), version=13),
    "a zero topic id": lambda target: target.ask(
        ProduceRequest(
            acks=1,
            timeout_ms=1,
            topic_data=[TopicProduceData(partition_data=[PartitionProduceData(index=0, records=batch())])],
        ),
        13,
    ),
    "an internal topic": _one("__consumer_offsets", batch()),
    "an empty topic name": _one("", batch()),
    "a bad topic name": _one("a/b", batch()),
    "a partition twice": _several(("twice", 0, batch(b"first")), ("twice", 0, batch(b"second"))),
    "a partition twice in one topic": lambda target: target.ask(
        ProduceRequest(
            acks=1,
            timeout_ms=1,
            topic_data=[
                TopicProduceData(
                    name="twice2",
                    partition_data=[
                        PartitionProduceData(index=0, records=batch(b"first")),
                        PartitionProduceData(index=0, records=batch(b"second")),
                    ],
                )
            ],
        ),
        11,
    ),
    "a sequence without a start": _in_turn("idem", _idempotent(5, producer=1001), _idempotent(6, producer=1001)),
    "a gap in the sequence": _in_turn("idem", _idempotent(0, producer=1002), _idempotent(2, producer=1002)),
    "a repeated batch": _in_turn("idem2", *[_idempotent(0, producer=1003, count=3)] * 2),
    "a batch that overlaps": _in_turn(
        "idem3", _idempotent(0, producer=1004, count=3), _idempotent(1, producer=1004, count=3)
    ),
    "the sixth batch back": _in_turn(
        "idem4", *[_idempotent(n, producer=1005) for n in range(6)], _idempotent(0, producer=1005)
    ),
    "an old epoch": _in_turn("idem5", _idempotent(0, producer=1006, epoch=3), _idempotent(1, producer=1006, epoch=2)),
    "a new epoch that starts at 1": _in_turn(
        "idem6", _idempotent(0, producer=1007), _idempotent(1, producer=1007, epoch=1)
    ),
    "a new epoch": _in_turn("idem7", _idempotent(0, producer=1008), _idempotent(0, producer=1008, epoch=1)),
    "a repeated batch on a LogAppendTime topic": _in_turn("stamped2", *[_idempotent(0, producer=1009)] * 2),
    "the end of the sequences": _in_turn(
        "idem8",
        _idempotent(2147483647, producer=1010),
        _idempotent(0, producer=1010),
        _idempotent(2147483647, producer=1010),
    ),
}

TOPICS: dict[str, dict[str, str]] = {
    "p": {},
    "small": {"max.message.bytes": "200"},
    "compacted": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "stamped2": {"message.timestamp.type": "LogAppendTime"},
    "zstd": {"compression.type": "zstd"},
    "strict": {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "1000"},
    "twice": {},
    "twice2": {},
    **{name: {} for name in ("idem", "idem2", "idem3", "idem4", "idem5", "idem6", "idem7", "idem8")},
}

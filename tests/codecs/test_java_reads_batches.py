"""Kafka's own reader agrees with ours about every batch we build, and ours with it about every batch it builds."""

from pathlib import Path
from random import Random

from barnabas.protocol.records.batch import parse_header, verify_crc
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import COMPRESSION_NAMES, NONE
from barnabas.protocol.records.record import BatchRecord, iter_records
from tests.support.clients.java import run_program

PROGRAM = Path(__file__).with_name("Batches.java")
BATCHES_PER_CODEC = 40


def some_bytes(rng: Random) -> bytes | None:
    """Null, empty, short, random and long repetitive data: what codecs treat differently."""
    size = rng.choice((0, 1, 30, 5_000, 70_000))
    return rng.choice((None, rng.randbytes(min(size, 5_000)), b"abc" * (size // 3)))


def a_record(rng: Random) -> NewRecord:
    headers = [(rng.choice(("", "h", "ü€")), some_bytes(rng)) for _ in range(rng.choice((0, 0, 1, 3)))]
    return NewRecord(some_bytes(rng), some_bytes(rng), headers, rng.randrange(0, 2**50))


def a_batch(rng: Random, compression: int) -> bytes:
    records = [a_record(rng) for _ in range(rng.randrange(1, 12))]
    has_producer = rng.random() < 0.5
    return bytes(
        build_batch(
            records,
            base_offset=rng.randrange(2**50),
            leader_epoch=rng.randrange(1000),
            compression=compression,
            transactional=has_producer and rng.random() < 0.5,
            producer_id=rng.randrange(2**40) if has_producer else -1,
            producer_epoch=3 if has_producer else -1,
            base_sequence=rng.randrange(2**31) if has_producer else -1,
        )
    )


def described(batch: bytes) -> str:
    """The batch as the Java program describes it."""
    header = parse_header(batch)
    head = [header.base_offset, header.last_offset, header.producer_id, header.base_sequence, header.max_timestamp]
    codec = COMPRESSION_NAMES[header.compression]
    return ";".join([",".join([*map(str, head), codec]), *map(described_record, iter_records(batch))])


def described_record(record: BatchRecord) -> str:
    fields = [str(record.offset), str(record.timestamp), as_hex(record.key), as_hex(record.value)]
    for key, value in record.headers:
        fields += [key.encode().hex(), as_hex(value)]
    return ",".join(fields)


def as_hex(data: bytes | None) -> str:
    return "null" if data is None else data.hex()


def test_java_reads_what_we_build_and_we_read_what_java_builds() -> None:
    rng = Random(3)
    batches = [a_batch(rng, compression) for compression in COMPRESSION_NAMES for _ in range(BATCHES_PER_CODEC)]
    answers = run_program(PROGRAM, stdin="".join(f"{batch.hex()}\n" for batch in batches)).splitlines()
    assert len(answers) == len(batches)
    for batch, answer in zip(batches, answers, strict=True):
        theirs, _, rewritten = answer.partition("|")
        assert theirs == described(batch)
        java_built = bytes.fromhex(rewritten)
        assert verify_crc(java_built)
        assert described(java_built) == theirs
        if parse_header(batch).compression == NONE:
            assert java_built == batch

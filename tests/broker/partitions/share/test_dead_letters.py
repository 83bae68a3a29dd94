"""Which topics get dead letters, and what is in them: what Apache Kafka 4.4.0 was seen to do."""

from typing import Any

import pytest

from barnabas.broker.partitions.share.dead_letters import (
    CopiedRecord,
    DeadLetter,
    DeadLetterCause,
    DeadLetterSource,
    LetterBatch,
    in_groups,
    joined,
    letter_batches,
    refusal,
    without_first,
)
from barnabas.protocol.records.builder import seal_records
from barnabas.protocol.records.record import iter_records

REJECTED, WORN_OUT = DeadLetterCause.REJECTED, DeadLetterCause.WORN_OUT
SOURCE = DeadLetterSource("g", "t", 3)


@pytest.mark.parametrize(
    ("topic", "given", "reason"),
    [
        ("dlq.g", {"exists": True, "is_enabled": True}, ""),
        ("dlq.g", {"may_create": True}, ""),
        ("g", {"exists": True, "is_enabled": True, "prefix": ""}, ""),
        ("", {"may_create": True}, "the group has no dead-letter topic"),
        ("__x", {"may_create": True, "prefix": ""}, "the name begins with __"),
        ("dlq.g", {"exists": True, "may_create": True}, "errors.deadletterqueue.group.enable is not set"),
        ("dlq.g", {}, "the topic does not exist"),
        ("g", {"exists": True, "is_enabled": True}, "the name does not begin with"),
        ("g", {"exists": True}, "errors.deadletterqueue.group.enable is not set"),
    ],
)
def test_a_topic_gets_dead_letters_if_all_settings_allow_it(topic: str, given: dict[str, Any], reason: str) -> None:
    usual = {"exists": False, "is_enabled": False, "may_create": False, "prefix": "dlq."}
    found = refusal(topic, **{**usual, **given})
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


def test_letters_that_adjoin_and_are_alike_are_one() -> None:
    letters = [
        DeadLetter(0, 0, 1, REJECTED),
        DeadLetter(1, 4, 1, REJECTED),
        DeadLetter(5, 5, 2, REJECTED),
        DeadLetter(6, 6, 2, WORN_OUT),
        DeadLetter(8, 8, 2, WORN_OUT),
    ]
    assert joined(letters) == [letters[0]._replace(last=4), *letters[2:]]


@pytest.mark.parametrize(
    ("bounds", "groups"),
    [
        ([], []),
        ([(0, 9)], [[(0, 3)], [(4, 7)], [(8, 9)]]),
        ([(0, 1), (5, 9)], [[(0, 1), (5, 6)], [(7, 9)]]),
        ([(0, 3)], [[(0, 3)]]),
    ],
)
def test_letters_are_divided_into_groups(bounds: list[tuple[int, int]], groups: list[list[tuple[int, int]]]) -> None:
    letters = [DeadLetter(first, last, 1, REJECTED) for first, last in bounds]
    assert [[each[:2] for each in group] for group in in_groups(letters, 4)] == groups


@pytest.mark.parametrize(
    ("count", "left"), [(0, [(0, 3), (7, 8)]), (2, [(2, 3), (7, 8)]), (4, [(7, 8)]), (5, [(8, 8)]), (6, [])]
)
def test_the_first_records_are_taken_off_letters(count: int, left: list[tuple[int, int]]) -> None:
    letters = [DeadLetter(0, 3, 1, REJECTED), DeadLetter(7, 8, 1, REJECTED)]
    assert [each[:2] for each in without_first(letters, count)] == left


def built(*copies: CopiedRecord | None, max_bytes: int = 1 << 20) -> list[LetterBatch]:
    return [each for each in letter_batches(copies, SOURCE, max_bytes) if isinstance(each, LetterBatch)]


def contents(batch: LetterBatch) -> list[tuple[bytes | None, bytes | None]]:
    sealed = seal_records(batch.area, batch.records_count, 5, base_offset=0, leader_epoch=0)
    return [(record.key, record.value) for record in iter_records(sealed)]


def test_the_headers_say_where_a_record_lies_and_why_it_ended() -> None:
    (batch,) = built(
        CopiedRecord(7, DeadLetter(7, 8, 2, WORN_OUT), b"k", b"v"), None, CopiedRecord(8, DeadLetter(7, 8, 2, REJECTED))
    )
    worn_out, rejected = iter_records(seal_records(batch.area, batch.records_count, 5, base_offset=0, leader_epoch=0))
    assert batch.ranges == [(7, 8)]
    assert (worn_out.key, worn_out.value, worn_out.timestamp) == (b"k", b"v", 5)
    assert worn_out.headers == [
        ("__dlq.errors.topic", b"t"),
        ("__dlq.errors.partition", b"3"),
        ("__dlq.errors.offset", b"7"),
        ("__dlq.errors.group", b"g"),
        ("__dlq.errors.delivery.count", b"2"),
        ("__dlq.errors.message", b"Offset delivery count exceeded the threshold."),
    ]
    assert (rejected.key, rejected.value, rejected.offset) == (None, None, 1)
    assert rejected.headers[2::3] == [
        ("__dlq.errors.offset", b"8"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    ]


def test_batches_are_no_larger_than_the_topic_takes_and_large_copies_are_left_out() -> None:
    letter = DeadLetter(0, 3, 1, REJECTED)
    values = [b"a" * 100, b"b" * 550, b"c" * 2000, b"d" * 10]
    copies = [CopiedRecord(offset, letter, b"k", value) for offset, value in enumerate(values)]
    found = [contents(batch) for batch in built(*copies, max_bytes=1000)]
    assert found == [[(b"k", values[0])], [(b"k", values[1]), (None, None)], [(b"k", values[3])]]


def test_headers_that_are_too_large_are_left_to_the_topic_to_refuse() -> None:
    letter = DeadLetter(0, 1, 1, REJECTED)
    batches = built(CopiedRecord(0, letter), CopiedRecord(1, letter), max_bytes=150)
    assert [batch.records_count for batch in batches] == [1, 1]

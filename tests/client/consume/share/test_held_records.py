"""What a member of a share group holds, and the acknowledgements that follow from it."""

import pytest

from barnabas.client.consume.share.held_records import HeldRecords, batched
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_fetch import AcquiredRecords, LeaderIdAndEpoch, PartitionData
from barnabas.protocol.records.builder import NewRecord, build_batch

GAP, ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


def answer(records: bytes, *acquired: tuple[int, int, int]) -> PartitionData:
    return PartitionData(
        partition_index=0,
        error_code=0,
        acknowledge_error_code=0,
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=0),
        records=records,
        acquired_records=[
            AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
            for first, last, count in acquired
        ],
    )


def batch(base_offset: int, count: int) -> bytes:
    return bytes(build_batch([NewRecord(None, b"v", (), 0)] * count, base_offset=base_offset))


def acquired(data: PartitionData) -> tuple[HeldRecords, list[tuple[int, int]]]:
    """What is held after this response, and the offset and delivery count of each record."""
    held = HeldRecords(("t", 0))
    return held, [(each.record.offset, each.delivery_count) for each in held.acquire(data)]


def test_only_acquired_records_of_a_batch_are_held() -> None:
    held, records = acquired(answer(batch(0, 10), (3, 3, 2), (7, 8, 1)))
    assert records == [(3, 2), (7, 1), (8, 1)]
    assert not held.is_empty
    assert not held.is_open
    assert not held.has_news


def test_acquired_offsets_without_a_record_are_acknowledged_as_gaps() -> None:
    held, records = acquired(answer(batch(5, 2), (5, 8, 1)))
    assert records == [(5, 1), (6, 1)]
    assert held.take() == [(7, 8, [GAP])]
    assert held.take() == []


def test_an_empty_range_is_nothing() -> None:
    held, records = acquired(answer(b"", (0, -1, 1)))
    assert records == []
    assert held.is_empty


def test_a_record_is_acknowledged_after_it_was_returned_and_once() -> None:
    held, _ = acquired(answer(batch(0, 1), (0, 0, 1)))
    assert not held.acknowledge(0, ACCEPT)
    held.returned(0)
    assert held.is_open
    assert held.acknowledge(0, REJECT)
    assert not held.acknowledge(0, ACCEPT)
    assert held.take() == [(0, 0, [REJECT])]
    assert held.is_empty


def test_a_renewed_record_stays_and_is_not_open() -> None:
    held, _ = acquired(answer(batch(0, 1), (0, 0, 1)))
    held.returned(0)
    assert held.acknowledge(0, RENEW)
    assert held.take() == [(0, 0, [RENEW])]
    assert not held.is_empty
    assert not held.is_open
    held.accept_returned()
    assert not held.has_news, "only its program decides"
    assert held.acknowledge(0, ACCEPT)
    assert held.take() == [(0, 0, [ACCEPT])]
    assert held.is_empty


def test_damaged_records_are_rejected() -> None:
    held = HeldRecords(("t", 0))
    with pytest.raises(KafkaError, match="t-0") as caught:
        held.acquire(answer(batch(0, 3)[:-1] + b"!", (0, 2, 1)))
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert held.take() == [(0, 2, [REJECT])]


@pytest.mark.parametrize(
    ("settled", "ranges"),
    [
        ({}, []),
        ({4: ACCEPT}, [(4, 4, [1])]),
        ({1: ACCEPT, 0: ACCEPT, 2: ACCEPT}, [(0, 2, [1])]),
        ({0: ACCEPT, 1: GAP, 2: REJECT}, [(0, 2, [1, 0, 3])]),
        ({0: ACCEPT, 2: ACCEPT, 3: RELEASE}, [(0, 0, [1]), (2, 3, [1, 2])]),
    ],
)
def test_acknowledgements_are_sent_as_ranges(
    settled: dict[int, AcknowledgeType], ranges: list[tuple[int, int, list[int]]]
) -> None:
    assert list(batched(settled)) == ranges

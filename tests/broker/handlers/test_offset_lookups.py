"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords over a real partition log in memory."""

from types import SimpleNamespace
from typing import cast

import pytest

from barnabas.broker.context import RequestContext, Services
from barnabas.broker.handlers import delete_records, list_offsets, offset_for_leader_epoch
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.steps import finish
from tests.support.worlds.log import START_MS, LogWorld

EPOCH = 3


class OnePartition:
    """A broker with one topic `t` of one partition, in leader epoch 3, and an internal topic over the same log."""

    def __init__(self) -> None:
        self.world = LogWorld()
        self.world.leader_epoch = EPOCH
        self.log = self.world.open()
        self.log.set_leader_epoch(EPOCH)
        self.topics = {"t": SimpleNamespace(is_internal=False), "__internal": SimpleNamespace(is_internal=True)}

    def get(self, topic: str, partition: int) -> PartitionLog:
        if topic not in self.topics or partition != 0:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition}")
        return self.log

    def delete_records_before(self, topic: str, partition: int, offset: int) -> int:
        return self.get(topic, partition).delete_records_before(offset)

    def context(self, version: int) -> RequestContext:
        slices = SimpleNamespace(
            in_slices=lambda begin, kind=None: finish(begin()), to_the_end=lambda begin, kind=None: finish(begin())
        )
        room = SimpleNamespace(records_deleted=lambda topic, partition: None)
        services = cast(Services, SimpleNamespace(partitions=self, catalogue=self, slices=slices, room=room))
        return RequestContext(services, 0, version)


@pytest.fixture
def broker() -> OnePartition:
    """Three batches of one record, a millisecond apart, then an open transaction."""
    broker = OnePartition()
    for number in range(3):
        broker.world.append(b"v", timestamp=START_MS + number)
    broker.world.append(b"open", timestamp=START_MS - 5, producer_id=9, epoch=0, sequence=0, transactional=True)
    return broker


def ask(broker: OnePartition, request: ListOffsetsRequest, version: int = 11) -> ListOffsetsResponse:
    """What is answered at once."""
    answered = list_offsets.handle(request, broker.context(version))
    assert isinstance(answered, ListOffsetsResponse)
    return answered


def look_up(
    broker: OnePartition,
    timestamp: int,
    *,
    version: int = 11,
    topic: str = "t",
    epoch: int = -1,
    committed: bool = False,
) -> ListOffsetsPartitionResponse:
    asked = ListOffsetsPartition(partition_index=0, current_leader_epoch=epoch, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=int(committed), topics=[ListOffsetsTopic(name=topic, partitions=[asked])]
    )
    return ask(broker, request, version).topics[0].partitions[0]


@pytest.mark.parametrize(
    ("timestamp", "committed", "expected"),
    [
        (-1, False, (-1, 4, EPOCH)),
        (-1, True, (-1, 3, EPOCH)),
        (-2, False, (-1, 0, EPOCH)),
        (-3, False, (START_MS + 2, 2, EPOCH)),
        (-4, False, (-1, 0, EPOCH)),
        (-5, False, (-1, -1, -1)),
        (-6, False, (-1, -1, -1)),
        (START_MS + 1, False, (START_MS + 1, 1, EPOCH)),
        (START_MS + 3, False, (-1, -1, -1)),
    ],
)
def test_a_timestamp_finds_its_offset(
    broker: OnePartition, timestamp: int, committed: bool, expected: tuple[int, int, int]
) -> None:
    found = look_up(broker, timestamp, committed=committed)
    assert found.error_code == ErrorCode.NONE
    assert (found.timestamp, found.offset, found.leader_epoch) == expected


@pytest.mark.parametrize(("timestamp", "since"), sorted(list_offsets.SINCE_VERSION.items()))
def test_a_special_timestamp_is_known_from_its_version_on(broker: OnePartition, timestamp: int, since: int) -> None:
    assert look_up(broker, timestamp, version=since).error_code == ErrorCode.NONE
    if since > 1:
        assert look_up(broker, timestamp, version=since - 1).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("topic", "epoch", "code"),
    [
        ("nobody", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", EPOCH - 1, ErrorCode.FENCED_LEADER_EPOCH),
        ("t", EPOCH + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ("t", EPOCH, ErrorCode.NONE),
    ],
)
def test_each_read_knows_its_partition_and_epoch(broker: OnePartition, topic: str, epoch: int, code: ErrorCode) -> None:
    found = look_up(broker, -1, topic=topic, epoch=epoch)
    assert found.error_code == code
    if code is not ErrorCode.NONE:
        assert (found.timestamp, found.offset, found.leader_epoch) == (-1, -1, -1)
    assert end_of_epoch(broker, EPOCH, topic=topic, current=epoch).error_code == code


def end_of_epoch(broker: OnePartition, epoch: int, *, topic: str = "t", current: int = -1) -> EpochEndOffset:
    asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])])
    answer = offset_for_leader_epoch.handle(request, broker.context(4))
    assert isinstance(answer, OffsetForLeaderEpochResponse)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize(
    ("epoch", "expected"), [(EPOCH, (EPOCH, 4)), (EPOCH + 1, (-1, -1)), (EPOCH - 1, (EPOCH - 1, 0))]
)
def test_an_epoch_ends_where_the_next_begins(broker: OnePartition, epoch: int, expected: tuple[int, int]) -> None:
    found = end_of_epoch(broker, epoch)
    assert (found.leader_epoch, found.end_offset) == expected


def delete(broker: OnePartition, offset: int, topic: str = "t") -> tuple[int, int]:
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=1000)
    answer = delete_records.handle(request, broker.context(2))
    assert isinstance(answer, DeleteRecordsResponse)
    found = answer.topics[0].partitions[0]
    return found.error_code, found.low_watermark


def test_deleting_records_moves_the_start_and_never_back(broker: OnePartition) -> None:
    assert delete(broker, 2) == (ErrorCode.NONE, 2)
    assert delete(broker, 1) == (ErrorCode.NONE, 2)
    assert look_up(broker, -2).offset == 2
    assert delete(broker, -1) == (ErrorCode.NONE, 4)

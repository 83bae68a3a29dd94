"""The load R of share groups: a start with 100,000 records of one group that are finished or in flight.

Each round has a broker of its own, with one partition of `__share_group_state`. A member holds the first record of
every share partition, so that no start offset moves, and accepts and rejects the others in turn: no two neighbours have
the same state. Then the broker is killed and started, and another member requests records until each share partition
has returned its first one.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from barnabas.client.admin.configs import ConfigChange, ConfigOperation, ResourceType, alter_configs
from barnabas.client.client import Client
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from barnabas.protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from bench.peers.measure import cpu_seconds
from bench.peers.peer import KAFKAS_OWN_JVM_OPTIONS, Figures, Peer
from bench.peers.topics import fresh_topic
from tests.support.kafka.process import KafkaProcess
from tests.support.probes.wire import Wire
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

PARTITIONS, RECORDS_EACH = 50, 2_000
SETTINGS = {"share.coordinator.state.topic.num.partitions": 1}
_GROUP, _MEMBER = "bench", "m" * 22
_FIND_VERSION, _HEARTBEAT_VERSION, _FETCH_VERSION, _METADATA_VERSION = 2, 1, 2, 12
_PATIENCE_S = 120.0
_ALTERNATING = (int(AcknowledgeType.ACCEPT), int(AcknowledgeType.REJECT))
Range = tuple[int, int]


def reload(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run R on a broker of the same kind as the peer's."""
    with tempfile.TemporaryDirectory(prefix="barnabas-reload-") as scratch:
        own = Peer(peer.name, _another(peer.server, Path(scratch) / "data"))
        own.start()
        try:
            topic = fresh_topic(own, PARTITIONS)
            count = PARTITIONS * RECORDS_EACH * 3 // 200  # the connections do not write equally much
            own.blast("produce", topic, connections=PARTITIONS, partitions=PARTITIONS, records=100, count=count)
            _finish_all_but_the_first(own.port, topic)
            own.server.kill()
            own.start()
            spent = cpu_seconds(own.server.pid)
            figures = _first_records(own.port, topic)
            return figures | {"cpu_ms": (cpu_seconds(own.server.pid) - spent) * 1000}
        finally:
            own.server.kill()


def _another(server: Server, data_dir: Path) -> Server:
    if isinstance(server, KafkaProcess):
        return KafkaProcess(data_dir, SETTINGS, jvm_options=KAFKAS_OWN_JVM_OPTIONS)
    return BrokerProcess(data_dir, SETTINGS)


def _finish_all_but_the_first(port: int, topic: str) -> None:
    with Client(f"127.0.0.1:{port}", timeout_ms=60_000) as client:
        earliest = ConfigChange("share.auto.offset.reset", ConfigOperation.SET, "earliest")
        alter_configs(client, ResourceType.GROUP, _GROUP, [earliest])
    left = PARTITIONS * (RECORDS_EACH - 1)
    deadline = time.monotonic() + _PATIENCE_S
    with Wire(port) as wire:
        _join(wire, topic)
        topic_id = _topic_id(wire, topic)
        wanted, epoch = set(range(PARTITIONS)), 0
        while left > 0:
            acquired = _acquired(wire, topic_id, wanted, epoch, records_max=PARTITIONS * RECORDS_EACH)
            epoch += 1
            if acquired:
                left -= _finish(wire, topic_id, acquired, epoch)
                epoch += 1
            wanted = set()  # the session has them
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} records were not delivered in {_PATIENCE_S:.0f} s")


def _join(wire: Wire, topic: str) -> None:
    """Join the group, until it has assigned the partitions: then their states have begun."""
    wire.ask(FindCoordinatorRequest(key=_GROUP), _FIND_VERSION)  # has Kafka create the topic of its groups
    epoch, deadline = 0, time.monotonic() + _PATIENCE_S
    while True:
        request = ShareGroupHeartbeatRequest(
            group_id=_GROUP, member_id=_MEMBER, member_epoch=epoch, subscribed_topic_names=[topic]
        )
        answer = wire.ask(request, _HEARTBEAT_VERSION)
        if answer.error_code == ErrorCode.NONE:
            epoch = answer.member_epoch
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return
        if time.monotonic() > deadline:
            raise TimeoutError(f"no assignment in {_PATIENCE_S:.0f} s")


def _finish(wire: Wire, topic_id: bytes, acquired: dict[int, list[Range]], epoch: int) -> int:
    """Accept and reject records in turn, but not the first of a partition; return how many."""
    partitions = []
    count = 0
    for number, ranges in acquired.items():
        batches = []
        for first, last in ranges:
            begin = max(1, first)
            if begin <= last:
                types = [_ALTERNATING[offset % 2] for offset in range(begin, last + 1)]
                batches.append(AcknowledgementBatch(first_offset=begin, last_offset=last, acknowledge_types=types))
                count += len(types)
        partitions.append(AcknowledgePartition(partition_index=number, acknowledgement_batches=batches))
    request = ShareAcknowledgeRequest(
        group_id=_GROUP,
        member_id=_MEMBER,
        share_session_epoch=epoch,
        topics=[AcknowledgeTopic(topic_id=topic_id, partitions=partitions)],
    )
    answer = wire.ask(request, _FETCH_VERSION)
    codes = {answer.error_code, *(each.error_code for of in answer.responses for each in of.partitions)}
    if codes != {ErrorCode.NONE}:
        raise RuntimeError(f"acknowledgements were refused: {codes}")
    return count


def _first_records(port: int, topic: str) -> Figures:
    """Return the times until one and until all share partitions returned their first record."""
    begun = time.perf_counter()
    first_ms = 0.0
    with Wire(port) as wire:
        topic_id = _until(lambda: _topic_id(wire, topic))
        left = set(range(PARTITIONS))
        while left:
            left -= _acquired(wire, topic_id, left).keys()
            passed_ms = (time.perf_counter() - begun) * 1000
            if not first_ms and len(left) < PARTITIONS:
                first_ms = passed_ms
            if passed_ms > _PATIENCE_S * 1000:
                raise TimeoutError(f"{len(left)} share partitions returned no record in {_PATIENCE_S:.0f} s")
    return {"first_answer_ms": first_ms, "all_answers_ms": passed_ms}


def _until(find: Callable[[], bytes]) -> bytes:
    deadline = time.monotonic() + _PATIENCE_S
    while not any(found := find()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no topic in {_PATIENCE_S:.0f} s")
    return found


def _topic_id(wire: Wire, topic: str) -> bytes:
    (found,) = wire.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), _METADATA_VERSION).topics
    return bytes(found.topic_id)


def _acquired(
    wire: Wire, topic_id: bytes, wanted: set[int], epoch: int = 0, records_max: int = PARTITIONS
) -> dict[int, list[Range]]:
    """Return what the share partitions return within a short wait. `wanted`: those that the session gets."""
    partitions = [FetchPartition(partition_index=each, acknowledgement_batches=[]) for each in sorted(wanted)]
    request = ShareFetchRequest(
        group_id=_GROUP,
        member_id=_MEMBER,
        share_session_epoch=epoch,
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=50 << 20,
        max_records=records_max,
        batch_size=100,
        topics=[FetchTopic(topic_id=topic_id, partitions=partitions)] if partitions else [],
        forgotten_topics_data=[],
    )
    answer = wire.ask(request, _FETCH_VERSION)
    return {
        each.partition_index: [(got.first_offset, got.last_offset) for got in each.acquired_records]
        for of in answer.responses
        for each in of.partitions
        if each.acquired_records
    }

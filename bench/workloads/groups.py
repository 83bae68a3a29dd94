"""The workloads G1 to G6: the cost of groups.

G3 kills its broker, and G6 counts memory, which no earlier round may have left: both have a separate one, fresh in
every round.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from barnabas.protocol.headers import encode_request_header
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.registry import ApiKey, request_codec, response_codec
from bench.peers.measure import blast, run_json
from bench.peers.peer import KAFKAS_OWN_JVM_OPTIONS, Figures, Peer
from bench.peers.topics import fresh_topic
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

COMMITTERS = 20
RELOADED_GROUPS, RELOADED_PARTITIONS = 100, 1_000
CONSUMERS, CONSUMED_PARTITIONS = 500, 1_000
ONE_PARTITION = {"offsets.topic.num.partitions": 1}
_COMMIT_VERSION = 7
_KAFKA_LOADED = re.compile(r"Finished loading of metadata from __consumer_offsets-0 with epoch \d+ in (\d+)ms")


def load(program: str, peer: Peer, **options: float | str) -> Figures:
    """Run a program of `group_load` against a broker."""
    return _run(["bench.programs.group_load", program], peer, options)


def _run(program: list[str], peer: Peer, options: Mapping[str, float | str]) -> Figures:
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", *program, "--port", str(peer.port), "--pid", str(peer.server.pid)]
    return run_json([*command, *arguments])


def committed_topic(peer: Peer) -> str:
    """Create a topic for which each of G1's groups has committed an offset, so that the coordinator has loaded all."""
    topic = fresh_topic(peer)
    load("fill", peer, topic=topic, groups=COMMITTERS, partitions=1)
    return topic


def commits(depth: int) -> Callable[[Peer, str, float], Figures]:
    """Return G1: groups without members that commit one partition each, over and over."""

    def run(peer: Peer, topic: str, seconds: float) -> Figures:
        with tempfile.NamedTemporaryFile(suffix=".frames") as file:
            file.write(
                b"".join(_sized(_commit(topic, number)) + _sized(_answer(topic)) for number in range(COMMITTERS))
            )
            file.flush()
            return blast(
                "repeat", peer.port, topic, connections=COMMITTERS, depth=depth, seconds=seconds, frames=file.name
            )

    return run


def _sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def _commit(topic: str, number: int) -> bytes:
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1_000_000, committed_leader_epoch=-1, committed_metadata=""
    )
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    request = OffsetCommitRequest(group_id=f"group-{number}", member_id="", topics=topics)
    header = encode_request_header(ApiKey.OFFSET_COMMIT, _COMMIT_VERSION, 0, "blast")
    return header + request_codec(ApiKey.OFFSET_COMMIT, _COMMIT_VERSION).encode(request)


def _answer(topic: str) -> bytes:
    partitions = [OffsetCommitResponsePartition(partition_index=0, error_code=0)]
    response = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name=topic, partitions=partitions)])
    return bytes(response_codec(ApiKey.OFFSET_COMMIT, _COMMIT_VERSION).encode(response))


def rebalance(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run G2: 500 members, all rejoining at once."""
    return load("rebalance", peer, members=500, rounds=max(3, round(seconds)))


def reload(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run G3: 100,000 offsets in one partition of `__consumer_offsets`, after a kill.

    The first answer is counted from the moment when the broker is ready. `load_ms` is the broker's own figure:
    Kafka writes it to its log; Barnabas loads at the first request.
    """
    with tempfile.TemporaryDirectory(prefix="barnabas-reload-") as scratch:
        own = Peer(peer.name, _another(peer.server, Path(scratch) / "data"))
        own.start()
        try:
            size: dict[str, float | str] = {
                "topic": fresh_topic(own, RELOADED_PARTITIONS),
                "groups": RELOADED_GROUPS,
                "partitions": RELOADED_PARTITIONS,
            }
            load("fill", own, **size)
            own.server.kill()
            own.start()
            before_mb = own.held_mb()
            figures = load("reload", own, **size)
            figures["kb_per_offset"] = (own.held_mb() - before_mb) * 1024 / (RELOADED_GROUPS * RELOADED_PARTITIONS)
            loaded = _KAFKA_LOADED.search(own.server.log)
            figures["load_ms"] = float(loaded[1]) if loaded else figures["first_answer_ms"]
            return figures
        finally:
            own.server.kill()


def _another(server: Server, data_dir: Path) -> Server:
    """Create a broker of the same kind whose groups all share one partition."""
    if isinstance(server, KafkaProcess):
        return KafkaProcess(data_dir, ONE_PARTITION, jvm_options=KAFKAS_OWN_JVM_OPTIONS)
    return BrokerProcess(data_dir, ONE_PARTITION)


def idle(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run G4: 1,000 members in groups of 50 that only send heartbeats, every 3 s."""
    return load("idle", peer, members=1_000, seconds=max(6.0, seconds))


def consumed_topic(peer: Peer) -> str:
    """Create a topic whose partitions the members of G5 share."""
    return fresh_topic(peer, CONSUMED_PARTITIONS)


def consumers(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run G5: 500 members of a group of the consumer protocol (KIP-848) over 1,000 partitions."""
    size: dict[str, float | str] = {"topic": topic, "partitions": CONSUMED_PARTITIONS, "members": CONSUMERS}
    return _run(["bench.programs.consumer_group_load"], peer, size | {"seconds": seconds})


def consumers_memory(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run G6: 5,000 members of the consumer protocol, with one partition each."""
    with tempfile.TemporaryDirectory(prefix="barnabas-members-") as scratch:
        own = Peer(peer.name, _another(peer.server, Path(scratch) / "data"))
        own.start()
        try:
            return _run(["bench.programs.consumer_group_memory"], own, {"topic": fresh_topic(own, CONSUMED_PARTITIONS)})
        finally:
            own.server.kill()

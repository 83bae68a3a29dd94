"""The workloads W1 to W12, and those of groups: what load each puts on a broker, and which figures of it count.

A workload is a function from (peer, scale) to figures. `scale` is 1.0 for a full run and smaller for a quick one:
it shortens the measuring, never the message or batch sizes. Every call works on a fresh topic. All figures carry
their unit in their name.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from tests.bench import groups, perf_tools
from tests.bench.measure import blast, rdkafka
from tests.bench.peers import Peer
from tests.bench.topics import fresh_topic


def w1(peer: Peer, scale: float) -> dict[str, Any]:
    return rdkafka("produce", peer.port, fresh_topic(peer), size=100, batch_size=16384, seconds=12 * scale)


def w2(peer: Peer, scale: float) -> dict[str, Any]:
    return rdkafka("produce", peer.port, fresh_topic(peer), size=1000, batch_size=16384, seconds=12 * scale)


def w3(peer: Peer, scale: float) -> dict[str, Any]:
    return rdkafka("produce", peer.port, fresh_topic(peer), size=1000, batch_size=1_000_000, seconds=12 * scale)


def w5(peer: Peer, scale: float) -> dict[str, Any]:
    return rdkafka("sync", peer.port, fresh_topic(peer), size=100, seconds=10 * scale)


def w5_raw(peer: Peer, scale: float) -> dict[str, Any]:
    return blast("produce", peer.port, fresh_topic(peer), seconds=6 * scale)


def w6(peer: Peer, scale: float) -> dict[str, Any]:
    return blast("produce", peer.port, fresh_topic(peer), connections=100, seconds=8 * scale)


def w7(depth: int) -> Callable[[Peer, float], dict[str, Any]]:
    def run(peer: Peer, scale: float) -> dict[str, Any]:
        return blast("produce", peer.port, fresh_topic(peer), depth=depth, seconds=6 * scale)

    return run


def _backlog(peer: Peer, scale: float) -> tuple[str, int]:
    """A topic holding about `scale` GB in messages of 1000 bytes, batches of 16 KiB."""
    topic = fresh_topic(peer)
    count = 0
    while count * 1000 < 1e9 * scale:
        count += rdkafka("produce", peer.port, topic, size=1000, batch_size=16384, seconds=4 * scale)["messages"]
    return topic, count


def w8(peer: Peer, scale: float) -> dict[str, Any]:
    topic, count = _backlog(peer, scale)
    before = peer.cpu_seconds()
    raw = blast("fetch", peer.port, topic, bytes=1e15, seconds=60.0)
    raw_cpu = peer.cpu_seconds() - before
    stock = rdkafka("consume", peer.port, topic, count=count)
    return {
        "raw_mb_per_second": raw["mb_per_second"],
        "raw_cpu_s_per_gb": raw_cpu / (raw["bytes"] / 1e9),
        "mb_per_second": stock["mb_per_second"],
    }


def w9(peer: Peer, scale: float) -> dict[str, Any]:
    return rdkafka("latency", peer.port, fresh_topic(peer), rate=1000, seconds=10 * scale)


def w11(peer: Peer, scale: float) -> dict[str, Any]:
    """A producer over 12 partitions while a reader follows all of them."""
    topic = fresh_topic(peer, 12)
    seconds = 10 * scale
    with ThreadPoolExecutor() as pool:
        reader = pool.submit(rdkafka, "tail", peer.port, topic, seconds=seconds)
        written = rdkafka("produce", peer.port, topic, size=1000, batch_size=16384, seconds=seconds)
        read = reader.result()
    return {
        "mb_per_second": written["mb_per_second"],
        "tail_mb_per_second": read["mb_per_second"],
        "tail_p99_ms": read["p99_ms"],
    }


def java(peer: Peer, scale: float) -> dict[str, Any]:
    """Kafka's ProducerPerformance, and its ConsumerPerformance on what that wrote."""
    topic, count = fresh_topic(peer), int(2_000_000 * scale)
    written = perf_tools.produce(peer.port, topic, count=count, size=1000)
    return written | perf_tools.consume(peer.port, topic, count=count)


class Workload(NamedTuple):
    """`figures`: the ones that are compared, each with True where more is better; `aim`: the ratio to Kafka asked
    for.
    """

    title: str
    run: Callable[[Peer, float], dict[str, Any]]
    figures: dict[str, bool]
    aims: dict[str, str]


WORKLOADS: dict[str, Workload] = {
    "W1": Workload("produce 100 B, batch 16 KiB", w1, {"per_second": True}, {"per_second": ">= 1.2"}),
    "W2": Workload("produce 1000 B, batch 16 KiB", w2, {"mb_per_second": True}, {"mb_per_second": ">= 2"}),
    "W3": Workload("produce 1000 B, batch 1 MB", w3, {"mb_per_second": True}, {"mb_per_second": ">= 2.5"}),
    "W5": Workload(
        "one message at a time, librdkafka",
        w5,
        {"per_second": True, "p50_us": False, "p99_us": False},
        {"per_second": ">= 1.0", "p99_us": "<= 0.8"},
    ),
    "W5raw": Workload("one message at a time, raw", w5_raw, {"per_second": True, "p50_us": False, "p99_us": False}, {}),
    "W6": Workload(
        "100 connections, one outstanding each", w6, {"per_second": True, "p99_us": False}, {"per_second": ">= 1.1"}
    ),
    "W7d8": Workload("one connection, 8 deep", w7(8), {"per_second": True, "p99_us": False}, {"per_second": ">= 5"}),
    "W7d32": Workload("one connection, 32 deep", w7(32), {"per_second": True, "p99_us": False}, {"per_second": ">= 5"}),
    "W8": Workload(
        "read a backlog of 1 GB",
        w8,
        {"raw_mb_per_second": True, "mb_per_second": True},
        {"raw_mb_per_second": ">= 1.3"},
    ),
    "W9": Workload(
        "from producer to consumer at 1000/s",
        w9,
        {"p50_us": False, "p99_us": False},
        {"p50_us": "<= 0.5", "p99_us": "<= 0.5"},
    ),
    "Java": Workload(
        "Kafka's own performance tools, 1000 B",
        java,
        {"mb_per_second": True, "p99_ms": False, "tool_mb_per_second": True},
        {},
    ),
    "W11": Workload(
        "12 partitions written while a tail is read",
        w11,
        {"mb_per_second": True, "tail_mb_per_second": True, "tail_p99_ms": False},
        {"mb_per_second": ">= 1.5"},
    ),
    "G1": Workload(
        "OffsetCommit, 20 connections, one outstanding each",
        groups.commits(1),
        {"per_second": True, "p99_us": False},
        {"per_second": ">= 1.0"},
    ),
    "G1d8": Workload(
        "OffsetCommit, 20 connections, 8 deep",
        groups.commits(8),
        {"per_second": True, "p99_us": False},
        {"per_second": ">= 1.0"},
    ),
    "G2": Workload(
        "500 members rejoin",
        groups.rebalance,
        {"rebalance_ms": False, "slowest_ms": False},
        {"rebalance_ms": "<= 1.0"},
    ),
    "G3": Workload(
        "reload 100,000 committed offsets",
        groups.reload,
        {"first_answer_ms": False, "all_answers_ms": False, "load_ms": False, "kb_per_offset": False},
        {"first_answer_ms": "<= 1.0"},
    ),
    "G4": Workload(
        "1,000 idle members' heartbeats",
        groups.idle,
        {"cpu_ms_per_s": False, "cpu_us_per_heartbeat": False, "p99_us": False, "kb_per_member": False},
        {"cpu_ms_per_s": "<= 1.0"},
    ),
}

"""The workloads W1 to W11, those of groups, and Kafka's own tools: the load that each puts on a broker, and its
figures that count. All brokers get the same clients with the same settings. A load that writes has a fresh topic each
time.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from bench.measuring.loads import Load, no_topic
from bench.peers.peer import Figures, Peer
from bench.peers.topics import fresh_topic
from bench.workloads import groups, perf_tools

BACKLOG = 256_000
"""The number of messages of 1,000 bytes that the reading loads find."""
_BATCH_RECORDS = 16
_JAVA_PER_SECOND, _JAVA_FEWEST = 100_000, 500_000

Run = Callable[[Peer, str, float], Figures]


def produce(size: int, batch_size: int) -> Run:
    """Return W1 to W3: one librdkafka producer."""

    def run(peer: Peer, topic: str, seconds: float) -> Figures:
        return peer.rdkafka("produce", topic, size=size, batch_size=batch_size, seconds=seconds)

    return run


def sync(peer: Peer, topic: str, seconds: float) -> Figures:
    return peer.rdkafka("sync", topic, size=100, seconds=seconds)


def raw(connections: int, depth: int) -> Run:
    """Return W5raw to W7: Produce of 100 bytes from the C client, acks=1."""

    def run(peer: Peer, topic: str, seconds: float) -> Figures:
        return peer.blast("produce", topic, connections=connections, depth=depth, seconds=seconds)

    return run


def backlog(peer: Peer) -> str:
    """Create a topic with batches of 16 KiB to read, the same ones on every peer."""
    topic = fresh_topic(peer)
    count = BACKLOG // _BATCH_RECORDS
    written = peer.blast("produce", topic, depth=8, size=1000, records=_BATCH_RECORDS, count=count, seconds=60.0)
    if written["requests"] < count - 1:  # one was its greeting
        raise RuntimeError(f"{peer.name}: a backlog of {written['requests']} batches instead of {count}")
    return topic


def raw_fetch(peer: Peer, topic: str, seconds: float) -> Figures:
    return peer.blast("fetch", topic, seconds=seconds)


def consume(peer: Peer, topic: str, seconds: float) -> Figures:
    return peer.rdkafka("consume", topic, count=BACKLOG, seconds=seconds)


def handshakes(peer: Peer, topic: str, seconds: float) -> Figures:
    """Open, authenticate and close one connection after the other."""
    return peer.blast("handshake", topic, seconds=seconds)


def latency(peer: Peer, topic: str, seconds: float) -> Figures:
    return peer.rdkafka("latency", topic, rate=1000, seconds=seconds)


def twelve_partitions(peer: Peer) -> str:
    return fresh_topic(peer, 12)


def written_and_read(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run W11: a producer over 12 partitions while a reader follows all of them."""
    with ThreadPoolExecutor() as pool:
        reader = pool.submit(peer.rdkafka, "tail", topic, seconds=seconds)
        written = peer.rdkafka("produce", topic, size=1000, batch_size=16384, seconds=seconds)
        read = reader.result()
    return written | {"tail_mb_per_second": read["mb_per_second"], "tail_p99_ms": read["p99_ms"]}


def java(peer: Peer, topic: str, seconds: float) -> Figures:
    """Run Kafka's ProducerPerformance, and its ConsumerPerformance on the written records."""
    count = max(_JAVA_FEWEST, int(_JAVA_PER_SECOND * seconds))
    written = perf_tools.produce(peer.port, topic, count=count, size=1000)
    return written | perf_tools.consume(peer.port, topic, count=count)


_RATE = {"per_second": True}
_MB = {"mb_per_second": True}
_TIMES = {"p50_us": False, "p99_us": False}
_P99 = {"p99_us": False}

LOADS = [
    Load("W1", "produce 100 B, batch 16 KiB", produce(100, 16384), _RATE, {"per_second": ">= 1.5"}),
    Load("W2", "produce 1000 B, batch 16 KiB", produce(1000, 16384), _MB, {"mb_per_second": ">= 1.6"}),
    Load("W3", "produce 1000 B, batch 1 MB", produce(1000, 1_000_000), _MB, {"mb_per_second": ">= 2.5"}),
    Load(
        "W5",
        "one message at a time, librdkafka",
        sync,
        _RATE | _TIMES,
        {"per_second": ">= 1.3", "p99_us": "<= 0.8"},
    ),
    Load("W5raw", "one message at a time, raw", raw(1, 1), _RATE | _TIMES, {}),
    Load("W6", "100 connections, one outstanding each", raw(100, 1), _RATE | _P99, {"per_second": ">= 1.2"}),
    Load("W7d8", "one connection, 8 deep", raw(1, 8), _RATE | _P99, {"per_second": ">= 6"}),
    Load("W7d32", "one connection, 32 deep", raw(1, 32), _RATE | _P99, {"per_second": ">= 6"}),
    Load("W8raw", "read a backlog, raw", raw_fetch, _MB, {"mb_per_second": ">= 1.2"}, backlog, keeps_topic=True),
    Load("W8", "read a backlog, librdkafka", consume, _MB, {}, backlog, keeps_topic=True),
    Load("W9", "from producer to consumer at 1000/s", latency, _TIMES, {"p50_us": "<= 0.6", "p99_us": "<= 0.5"}),
    Load(
        "W11",
        "12 partitions written while a tail is read",
        written_and_read,
        _MB | {"tail_mb_per_second": True, "tail_p99_ms": False},
        {"mb_per_second": ">= 1.5"},
        twelve_partitions,
    ),
    Load("H", "connections, one after the other", handshakes, _RATE, {}, no_topic),
    Load(
        "Java",
        "Kafka's own performance tools, 1000 B",
        java,
        _MB | {"p99_ms": False, "tool_mb_per_second": True},
        {},
    ),
    Load(
        "G1",
        "OffsetCommit, 20 connections, one outstanding each",
        groups.commits(1),
        _RATE | _P99,
        {"per_second": ">= 1.0"},
        groups.committed_topic,
    ),
    Load(
        "G1d8",
        "OffsetCommit, 20 connections, 8 deep",
        groups.commits(8),
        _RATE | _P99,
        {"per_second": ">= 1.0"},
        groups.committed_topic,
    ),
    Load(
        "G2",
        "500 members rejoin",
        groups.rebalance,
        {"rebalance_ms": False, "slowest_ms": False},
        {"rebalance_ms": "<= 1.0"},
        no_topic,
    ),
    Load(
        "G3",
        "reload 100,000 committed offsets",
        groups.reload,
        {"first_answer_ms": False, "all_answers_ms": False, "load_ms": False, "kb_per_offset": False},
        {"first_answer_ms": "<= 1.0"},
        no_topic,
        is_warmed=False,
    ),
    Load(
        "G4",
        "1,000 idle members' heartbeats",
        groups.idle,
        {"cpu_us_per_heartbeat": False, "cpu_ms_per_s": False, "p99_us": False, "kb_per_member": False},
        {"cpu_ms_per_s": "<= 1.0"},
        no_topic,
    ),
    Load(
        "G5",
        "500 members of the consumer protocol, one leaves",
        groups.consumers,
        {
            "assignment_ms": False,
            "slowest_ms": False,
            "join_ms": False,
            "heartbeats_per_second": True,
            "cpu_us_per_heartbeat": False,
        },
        {"assignment_ms": "<= 0.5"},
        groups.consumed_topic,
        keeps_topic=True,
    ),
    Load(
        "G6",
        "what 5,000 members of the consumer protocol take",
        groups.consumers_memory,
        {"kb_per_member": False},
        {},
        no_topic,
        is_warmed=False,
    ),
]
_LEFT_OUT_OF = {
    "floor": {load.name for load in LOADS} - {"W5raw", "W6", "W7d8", "W7d32", "W8raw"},  # the raw client's loads
    "kfake": {load.name for load in LOADS} - {"W5", "W5raw", "W6", "W7d8", "W7d32", "W9"},  # small: it has no disk
}
WORKLOADS = {
    load.name: load._replace(without=tuple(peer for peer, loads in _LEFT_OUT_OF.items() if load.name in loads))
    for load in LOADS
}
SECURED = ["W1", "W2", "W5", "W6", "W8", "H"]
"""The loads that are measured over TLS, unless --workload names others."""
QUICK = [name for name in WORKLOADS if name.startswith("W")]
"""The loads of a quick run without --workload."""

"""`scripts/bench --workload clean`: how fast a log is compacted, and the effect on producers, beside Apache Kafka.

A topic is filled with records of a tenth as many keys, in an order without pattern, while it may not be cleaned
(min.cleanable.dirty.ratio=1). Then it may: the time runs until all sealed segments are clean in
cleaner-offset-checkpoint. A producer of another topic sends one record after another meanwhile, and did so before for
comparison.
"""

import json
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from barnabas import form
from bench.measuring.report import number
from bench.peers.measure import blast, busy_seconds, own_seconds, rss_mb
from bench.peers.peer import KAFKAS_OWN_JVM_OPTIONS, Peer
from bench.peers.topics import fresh_topic
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess

Figures = dict[str, float]
SETTINGS = {"log.cleaner.backoff.ms": 100, "log.segment.delete.delay.ms": 200}
SEGMENT_BYTES = 32 << 20
AIMS = {"mb_per_second": ">= 0.5", "p99_times_without": "<= 2 (itself)"}
_RATIO = "min.cleanable.dirty.ratio"
_PATIENCE_S = 600.0
_ANSWER_S = 60.0
_POLL_S = 0.01
_PRODUCED_S = 3.0


class Size(NamedTuple):
    """The data that is cleaned in a round."""

    megabytes: int
    rounds: int


FULL, QUICK = Size(600, 4), Size(200, 2)
RECORD_BYTES = (100, 1_000)


def main(size: Size, *, alone: bool, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print the table, write all single results."""
    results: dict[str, dict[str, list[Figures]]] = {}
    with tempfile.TemporaryDirectory(prefix="barnabas-clean-") as scratch, ExitStack() as started:
        peers = [Peer("barnabas", BrokerProcess(Path(scratch) / "barnabas", SETTINGS))]
        if not alone:
            of_kafka = KafkaProcess(Path(scratch) / "kafka", SETTINGS, jvm_options=KAFKAS_OWN_JVM_OPTIONS)
            peers.append(Peer("kafka", of_kafka))
        for peer in peers:
            peer.start()
            started.callback(peer.stop)
        for turn in range(size.rounds + 1):
            for record_bytes in RECORD_BYTES:
                for peer in peers[:: -1 if turn % 2 else 1]:
                    figures = _one_round(peer, size.megabytes, record_bytes)
                    words = ", ".join(f"{key} {number(value)}" for key, value in figures.items())
                    say(f"{peer.name}, {record_bytes} B: {words}")
                    if turn:  # in the first round a JVM has compiled nothing yet
                        of_size = results.setdefault(f"records of {record_bytes} B", {})
                        of_size.setdefault(peer.name, []).append(figures)
    print(f"{size.megabytes} MB, {size.rounds} rounds after one to warm\n\n" + table(results))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "size": size._asdict(), "cleaning": results}, indent=1))
    return 0


def _one_round(peer: Peer, megabytes: int, record_bytes: int) -> Figures:
    beside = fresh_topic(peer)
    topic, active_base, cleanable_mb = _filled(peer, megabytes, record_bytes)
    without = _producing(peer, beside)
    begun, spent_s = time.perf_counter(), busy_seconds() - own_seconds()
    _alter(peer, topic, _RATIO, "0.01")
    during: list[Figures] = []
    producing = threading.Thread(target=lambda: during.append(_producing(peer, beside)))
    producing.start()
    _wait_until_clean(peer, topic, active_base)
    took_s = time.perf_counter() - begun
    memory_mb = rss_mb(peer.server.pid)
    producing.join()
    left_mb = _sealed_mb(peer, topic, active_base)
    spent_s = busy_seconds() - own_seconds() - spent_s
    admin = AdminClient(_client(peer))
    admin.delete_topics([topic])[topic].result(_ANSWER_S)
    return {
        "mb_per_second": cleanable_mb / took_s,
        "left_percent": left_mb / cleanable_mb * 100,
        "machine_cpu_s": spent_s,
        "p99_us_without": without["p99_us"],
        "p99_us": during[0]["p99_us"],
        "p99_times_without": during[0]["p99_us"] / without["p99_us"],
        "rss_mb": memory_mb,
    }


def _producing(peer: Peer, topic: str) -> Figures:
    return blast("produce", peer.port, topic, connections=1, size=100, records=1, seconds=_PRODUCED_S)


def _filled(peer: Peer, megabytes: int, record_bytes: int) -> tuple[str, int, float]:
    """Fill a topic that may not be cleaned yet; return its name, active segment's base offset, and the MB before it."""
    topic = f"clean-{time.time_ns()}"
    config = {"cleanup.policy": "compact", _RATIO: "1.0", "segment.bytes": str(SEGMENT_BYTES)}
    admin = AdminClient(_client(peer))
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(_ANSWER_S)
    count = megabytes * 1_000_000 // record_bytes
    keys = random.Random(megabytes * record_bytes).choices(range(count // 10), k=count)
    value = b"v" * (record_bytes - 20)
    producer = Producer(_client(peer) | {"linger.ms": 20, "batch.size": 200_000, "queue.buffering.max.messages": 0})
    for number_of, key in enumerate(keys):
        producer.produce(topic, value, key=b"%010d" % key, partition=0)
        if number_of % 10_000 == 0:
            producer.flush()
    if producer.flush(_PATIENCE_S):
        raise RuntimeError(f"{peer.name}: {topic} could not be filled")
    active_base = max(int(each.stem) for each in _segments(peer, topic))
    return topic, active_base, _sealed_mb(peer, topic, active_base)


def _segments(peer: Peer, topic: str) -> list[Path]:
    return list((peer.server.data_dir / f"{topic}-0").glob("*.log"))


def _sealed_mb(peer: Peer, topic: str, active_base: int) -> float:
    return sum(each.stat().st_size for each in _segments(peer, topic) if int(each.stem) < active_base) / 1e6


def _wait_until_clean(peer: Peer, topic: str, offset: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while _clean_until(peer, topic) < offset:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{peer.name}: {topic} was not cleaned in {_PATIENCE_S:.0f} s")
        time.sleep(_POLL_S)  # noqa: TID251  # polling a file of another program


def _clean_until(peer: Peer, topic: str) -> int:
    path = peer.server.data_dir / "cleaner-offset-checkpoint"
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith(f"{topic} 0 "):
                return int(line.rsplit(" ", 1)[1])
    return 0


def _alter(peer: Peer, topic: str, key: str, value: str) -> None:
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient(_client(peer))
    admin.incremental_alter_configs([resource])[resource].result(_ANSWER_S)


def _client(peer: Peer) -> dict[str, str | int | float | bool]:
    return {"bootstrap.servers": f"127.0.0.1:{peer.port}", "log_level": 5}  # at 6 it logs its own end


def table(results: dict[str, dict[str, list[Figures]]]) -> str:
    """Medians of each broker for each size of records; ratios to Kafka."""
    names = sorted(next(iter(results.values())))  # ours first, in any order of measuring
    lines = ["| | figure | " + " | ".join(names) + " | ratio | aim |", "|---|---|" + "--:|" * (len(names) + 1) + "---|"]
    for what, of_peers in results.items():
        for key in of_peers["barnabas"][0]:
            medians = [statistics.median(each[key] for each in of_peers[name]) for name in names]
            ratio = number(medians[0] / medians[1]) if len(medians) > 1 and medians[1] else ""
            lines.append(
                f"| {what} | {key} | " + " | ".join(map(number, medians)) + f" | {ratio} | {AIMS.get(key, '')} |"
            )
    return "\n".join(lines)

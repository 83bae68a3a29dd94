"""`scripts/bench --workload partitions`: a broker with 10,000 partitions that nobody writes to, beside Apache Kafka.

Each round creates the topics in an empty directory, stops the broker and starts it again, and asks for the metadata of
all topics, over and over. A start is counted from the spawn to the ready line, and to the first answer in which every
partition has a leader. Memory is what the broker holds after that start and more than it did when it was empty. The
metadata's client reads the answers and does not decode them.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic

from barnabas import form
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.registry import ApiKey, request_codec
from bench.measuring.report import number
from bench.peers.measure import cpu_seconds, held_mb, rss_mb
from bench.peers.peer import MakePeer, Peer, barnabas, kafka
from tests.support.probes.wire import Wire, frame

Figures = dict[str, float]
METADATA_VERSION = 12
TOPICS_AT_ONCE = 10
"""Topics in a request: Kafka refuses one that makes more than 10,000 records of metadata."""
AIMS = {"ready_ms": "0.2 of Kafka's", "kb_a_partition": "3", "metadata_ms": "1.0 of Kafka's"}
_PATIENCE_S, _SETTLE_S, _POLL_S, _WARM_S = 120.0, 2.0, 0.1, 6.0


class Size(NamedTuple):
    """The topics, and how often is measured."""

    topics: int
    partitions_each: int
    requests: int
    rounds: int

    @property
    def partitions(self) -> int:
        return self.topics * self.partitions_each

    def in_words(self) -> str:
        return f"{self.partitions:,} partitions in {self.topics} topics, {self.rounds} rounds"


FULL, QUICK = Size(100, 100, 200, 4), Size(20, 100, 50, 2)


def main(size: Size, *, alone: bool, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print the table, write all single results."""
    makers: dict[str, MakePeer] = {"barnabas": barnabas} if alone else {"barnabas": barnabas, "kafka": kafka}
    results: dict[str, list[Figures]] = {name: [] for name in makers}
    for turn in range(size.rounds):
        for name, make in list(makers.items())[:: -1 if turn % 2 else 1]:
            with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as scratch:
                figures = _one_round(make(Path(scratch) / name), size)
            say(f"{name}: " + ", ".join(f"{key} {number(value)}" for key, value in figures.items()))
            results[name].append(figures)
    print(size.in_words() + "\n\n" + table(results))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "size": size._asdict(), "rounds": results}, indent=1))
    return 0


def _one_round(peer: Peer, size: Size) -> Figures:
    peer.start()
    try:
        _wait_for_leaders(peer.port, 0)
        time.sleep(_SETTLE_S)  # noqa: TID251  # nothing tells when memory has settled
        empty_mb = peer.held_mb()
        create_s = _create(peer, size)
        peer.stop()
        begun = time.perf_counter()
        peer.start()
        _wait_for_leaders(peer.port, size.partitions)
        led_ms = (time.perf_counter() - begun) * 1000
        time.sleep(_SETTLE_S)  # noqa: TID251  # as above
        more_kb = (held_mb(peer.server.pid) - empty_mb) * 1024
        return {
            "create_s": create_s,
            "ready_ms": peer.start_ms,
            "all_led_ms": led_ms,
            "kb_a_partition": more_kb / size.partitions,
            "rss_mb": rss_mb(peer.server.pid),
            **_metadata_of_all(peer, size.requests),
        }
    finally:
        peer.stop()


def _create(peer: Peer, size: Size) -> float:
    """Create the topics, and wait until all have leaders; return the seconds that it took."""
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{peer.port}", "log_level": 5})
    topics = [NewTopic(f"wide-{topic}", size.partitions_each, 1) for topic in range(size.topics)]
    begun = time.perf_counter()
    for first in range(0, size.topics, TOPICS_AT_ONCE):
        for future in admin.create_topics(topics[first : first + TOPICS_AT_ONCE]).values():
            future.result(_PATIENCE_S)
    _wait_for_leaders(peer.port, size.partitions)
    return time.perf_counter() - begun


def _wait_for_leaders(port: int, partitions: int) -> None:
    """Ask for the metadata of all topics until so many partitions have a leader."""
    deadline = time.monotonic() + _PATIENCE_S
    with Wire(port) as wire:
        while True:
            topics = wire.ask(MetadataRequest(topics=None), METADATA_VERSION).topics
            led = sum(each.leader_id >= 0 for topic in topics for each in topic.partitions)
            if led == partitions:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"{led:,} of {partitions:,} partitions have a leader after {_PATIENCE_S:.0f} s")
            time.sleep(_POLL_S)  # noqa: TID251  # a client that asks without a pause takes the broker's time


def _metadata_of_all(peer: Peer, requests: int) -> Figures:
    """Ask for the metadata of all topics, after some seconds of the same that warm the broker up."""
    asked = MetadataRequest(topics=None)
    data = frame(ApiKey.METADATA, METADATA_VERSION, request_codec(ApiKey.METADATA, METADATA_VERSION).encode(asked))
    with Wire(peer.port) as wire:
        warm_until = time.monotonic() + _WARM_S
        while time.monotonic() < warm_until:
            _asked_ms(wire, data)
        spent = cpu_seconds(peer.server.pid)
        answers = [_asked_ms(wire, data) for _ in range(requests)]
    spent = cpu_seconds(peer.server.pid) - spent
    return {
        "metadata_ms": statistics.median(took_ms for took_ms, _ in answers),
        "metadata_cpu_ms": spent * 1000 / requests,
        "metadata_kb": answers[0][1] / 1024,
    }


def _asked_ms(wire: Wire, data: bytes) -> tuple[float, int]:
    """Send a request; return the milliseconds until its answer, and the answer's bytes."""
    begun = time.perf_counter()
    wire.send(data)
    payload = wire.receive(_PATIENCE_S)
    assert isinstance(payload, bytes), payload
    return (time.perf_counter() - begun) * 1000, len(payload)


def table(results: dict[str, list[Figures]]) -> str:
    """Return medians, spreads, and the ratio of ours to Kafka's, as Markdown. Less is better in all."""
    names = list(results)
    lines = ["| | " + " | ".join(names) + " | ratio | aim |", "|---|" + "--:|" * (len(names) + 1) + "--:|"]
    for key in results["barnabas"][0]:
        values = {name: [figures[key] for figures in results[name]] for name in names}
        medians = {name: statistics.median(each) for name, each in values.items()}
        cells = [f"{number(medians[name])} ({number(min(each))}–{number(max(each))})" for name, each in values.items()]
        kafkas = medians.get("kafka", 0.0)
        ratio = number(medians["barnabas"] / kafkas) if kafkas else ""
        lines.append(f"| {key} | {' | '.join(cells)} | {ratio} | {AIMS.get(key, '')} |")
    return "\n".join(lines)

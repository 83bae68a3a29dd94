"""`scripts/bench --workload restart`: a start over many partitions, after a clean stop and after a kill, beside Kafka.

Every start is one of a directory that was filled once, stopped or killed, and copied back before each round, so that
every round finds the same. Counted from the spawn: the ready line, the first record of one partition, the first records
of all. While all are fetched on one connection, another fetches the one partition that is ready, with a pause of a
millisecond after each answer: its longest wait is the cost of recovery to clients that do not need it.
"""

import json
import os
import random
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from barnabas import form
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from bench.measuring.report import number
from bench.peers.measure import blast, cpu_seconds, rss_mb
from bench.peers.peer import KAFKAS_OWN_JVM_OPTIONS, Peer
from bench.peers.topics import fresh_topic
from tests.support.kafka.process import KafkaProcess
from tests.support.probes.wire import Wire
from tests.support.processes.broker import BrokerProcess

Figures = dict[str, float]
RECORD_BYTES, BATCH_RECORDS = 1_000, 10
FETCH_VERSION = 12
PARTITION_BYTES_MAX = 16 << 10
"""Of a Fetch: one batch of a partition. With less, a Fetch returns the records of one partition only (KIP-74)."""
REQUESTED_AT_ONCE = 200
"""Partitions in a Fetch, so that no response is larger than a client would accept."""
MAX_WAIT_MS, MIN_BYTES = 50, 200 << 10
"""Of a Fetch: it returns the records of some twenty partitions at once, or of those that have any after 50 ms."""
ASKING_PAUSE_S = 0.001
"""Without it, a client that only asks takes half a core from the recovery that is measured."""
AIMS = {"first_fetch_ms": "<= 0.1", "others_worst_ms": "<= 20 ms"}
_PATIENCE_S = 300.0


class Size(NamedTuple):
    """The data on the disk."""

    partitions: int
    megabytes_each: int
    rounds: int

    def in_words(self) -> str:
        megabytes = self.partitions * self.megabytes_each
        return f"{megabytes:,} MB over {self.partitions:,} partitions, {self.rounds} rounds"


FULL, QUICK = Size(1_000, 10, 3), Size(200, 10, 3)


def main(size: Size, *, alone: bool, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print the table, write all single results."""
    results: dict[str, dict[str, list[Figures]]] = {}
    names = ["barnabas"] if alone else ["barnabas", "kafka"]
    for name in names:
        with tempfile.TemporaryDirectory(prefix="barnabas-restart-") as scratch:
            results[name] = {"clean": [], "killed": []}
            filled = _fill(name, Path(scratch), size, say)
            for turn in range(size.rounds):
                for how in ("clean", "killed") if turn % 2 else ("killed", "clean"):
                    figures = _one_start(name, Path(scratch), filled[how], size)
                    say(f"{name}, {how}: " + ", ".join(f"{key} {number(value)}" for key, value in figures.items()))
                    results[name][how].append(figures)
    print(size.in_words() + "\n\n" + table(results))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "size": size._asdict(), "restarts": results}, indent=1))
    return 0


class _Data(NamedTuple):
    directory: Path
    topic: str


def _peer(name: str, directory: Path) -> Peer:
    if name == "kafka":
        return Peer(name, KafkaProcess(directory, jvm_options=KAFKAS_OWN_JVM_OPTIONS))
    return Peer(name, BrokerProcess(directory))


def _fill(name: str, scratch: Path, size: Size, say: Callable[[str], None]) -> dict[str, _Data]:
    """Fill the two directories with which every round begins."""
    directory = scratch / "data"
    peer = _peer(name, directory)
    peer.start()
    topic = fresh_topic(peer, size.partitions)
    batches = size.partitions * size.megabytes_each * 1_000_000 // (RECORD_BYTES * BATCH_RECORDS)
    blast(
        "produce",
        peer.port,
        topic,
        connections=size.partitions,
        partitions=size.partitions,
        size=RECORD_BYTES,
        records=BATCH_RECORDS,
        count=batches,
        seconds=600.0,
    )
    peer.server.kill()
    killed = _copy(directory, scratch / "killed")
    peer.start()
    _fetch_all(peer.port, topic, range(size.partitions))
    peer.stop()
    clean = _copy(directory, scratch / "clean")
    say(f"{name}: filled")
    return {"killed": _Data(killed, topic), "clean": _Data(clean, topic)}


def _copy(source: Path, target: Path) -> Path:
    """Copy `source` to `target`. A directory that is there is emptied and moved, not deleted.

    An ext4 without a journal is slow to create files within a minute after others were deleted.
    """
    if target.exists():
        for file in target.rglob("*"):
            if file.is_file():
                os.truncate(file, 0)
        target.rename(tempfile.mkdtemp(prefix="emptied-", dir=target.parent))
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)
    subprocess.run(["sync"], check=True)  # otherwise the first start waits for dirty pages of the copy
    return target


def _one_start(name: str, scratch: Path, data: _Data, size: Size) -> Figures:
    directory = _copy(data.directory, scratch / "data")
    peer = _peer(name, directory)
    one, *others = random.Random().sample(range(size.partitions), size.partitions)
    begun = time.perf_counter()
    peer.server.start()
    try:
        ready_ms = _ms_since(begun)
        _fetch_all(peer.port, data.topic, [one])
        first_ms = _ms_since(begun)
        waits_ms: list[float] = []
        ended = threading.Event()
        asking = threading.Thread(target=_ask_again_and_again, args=(peer.port, data.topic, one, waits_ms, ended))
        asking.start()
        _fetch_all(peer.port, data.topic, others)
        all_ms = _ms_since(begun)
        ended.set()
        asking.join()
        return {
            "ready_ms": ready_ms,
            "first_fetch_ms": first_ms,
            "all_fetched_ms": all_ms,
            "others_worst_ms": max(waits_ms),
            "others_p99_ms": statistics.quantiles(waits_ms, n=100)[-1] if len(waits_ms) > 1 else waits_ms[0],
            "cpu_s": cpu_seconds(peer.server.pid),
            "rss_mb": rss_mb(peer.server.pid),
        }
    finally:
        peer.server.kill()


def _ms_since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000


def _ask_again_and_again(port: int, topic: str, partition: int, waits_ms: list[float], ended: threading.Event) -> None:
    with Wire(port) as wire:
        while not waits_ms or not ended.wait(ASKING_PAUSE_S):
            begun = time.perf_counter()
            if _fetched(wire, topic, [partition]) == {partition}:
                waits_ms.append(_ms_since(begun))


def _fetch_all(port: int, topic: str, partitions: Iterable[int]) -> None:
    """Fetch until every partition has returned its first records."""
    left = list(partitions)
    deadline = time.monotonic() + _PATIENCE_S
    with Wire(port) as wire:
        while left:
            requested, rest = left[:REQUESTED_AT_ONCE], left[REQUESTED_AT_ONCE:]
            got = _fetched(wire, topic, requested)
            left = rest + [each for each in requested if each not in got]
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(left)} partitions of {topic} gave no record in {_PATIENCE_S:.0f} s")


def _fetched(wire: Wire, topic: str, partitions: Iterable[int]) -> set[int]:
    """Return the partitions that returned records. An error has to be a retriable one."""
    requested = [
        FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=PARTITION_BYTES_MAX) for each in partitions
    ]
    request = FetchRequest(
        max_wait_ms=MAX_WAIT_MS,
        min_bytes=min(len(requested) << 10, MIN_BYTES),
        max_bytes=64 << 20,
        topics=[FetchTopic(topic=topic, partitions=requested)],
    )
    got = set()
    for answer in wire.ask(request, FETCH_VERSION).responses[0].partitions:
        error = ErrorCode(answer.error_code)
        if error not in (ErrorCode.NONE, *_AGAIN):
            raise RuntimeError(f"{topic}-{answer.partition_index}: {error.name}")
        if answer.records:
            got.add(answer.partition_index)
    return got


_AGAIN = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)


def table(results: dict[str, dict[str, list[Figures]]]) -> str:
    """Return medians of each broker, after a clean stop and after a kill; ratios to Kafka."""
    others = [name for name in results if name != "barnabas"]
    lines = ["| start | figure | " + " | ".join(results) + " | ratio | aim |"]
    lines.append("|---|---|" + "--:|" * (len(results) + 1) + "---|")
    for how in ("clean", "killed"):
        for key in results["barnabas"][how][0]:
            medians = {name: statistics.median(each[key] for each in of[how]) for name, of in results.items()}
            cells = " | ".join(number(value) for value in medians.values())
            ratio = number(medians["barnabas"] / medians[others[0]]) if others and medians[others[0]] else ""
            lines.append(f"| {how} | {key} | {cells} | {ratio} | {AIMS.get(key, '')} |")
    return "\n".join(lines)

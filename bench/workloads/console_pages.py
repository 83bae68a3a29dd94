"""`scripts/bench --workload console`: the console's page of a partition of ten million records, over HTTP.

The log is filled once: large batches of small records, in segments of 16 MB. A cold page is the first of a broker that
was just started over it, which includes loading what the console needs. Warm pages follow one another, of the whole
log and of places in it. Meanwhile another client repeats ApiVersions requests: its longest wait
is the cost of a page to others, the longest turn of the event loop as a client sees it. The aim is a page in 300 ms.
"""

from __future__ import annotations

import http.client
import json
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from barnabas import form
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.registry import ApiKey, request_codec
from bench.peers.measure import cpu_seconds, rss_mb
from tests.support.ports import unused_port
from tests.support.probes.wire import Wire, decoded, frame
from tests.support.processes.broker import BrokerProcess

RECORDS, IN_A_BATCH, VALUE_BYTES = 10_000_000, 500, 10
SEGMENT_BYTES = 16 << 20
ROUNDS, QUICK_ROUNDS = 21, 5
WALKED = 200
"""The number of views of the log, one after another, after which memory is read."""
AIM_MS = 300
_TOPIC, _PRODUCE_VERSION, _API_VERSIONS_VERSION = "ten-million", 9, 3
_AT_ONCE = 20
_WAITS_OF_A_PAGE = 20
_TIMEOUT_S, _REST_S = 60.0, 0.001


class View(NamedTuple):
    """A part of the log. offsets: how many it has; None for all."""

    name: str
    offsets: int | None

    def path(self, dice: random.Random) -> str:
        """Return the page's address, somewhere in the log."""
        if self.offsets is None:
            return f"/console/topics/{_TOPIC}/0"
        first = dice.randrange(RECORDS - self.offsets)
        return f"/console/topics/{_TOPIC}/0?from={first}&to={first + self.offsets}&at={first}"


class Opened(NamedTuple):
    """The cost of one page: time until its last byte; the broker's processor time, in ticks of 10 ms; another client's
    longest wait.
    """

    took_ms: float
    cpu_ms: float
    other_waits_ms: float


VIEWS = (View("the whole log", None), View("a tenth of it", RECORDS // 10), View("10,000 offsets", 10_000))


def main(*, rounds: int, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print a table, write all single results."""
    pages: dict[str, list[Opened]] = {}
    with tempfile.TemporaryDirectory(prefix="barnabas-console-") as directory:
        _fill(Path(directory), say)
        pages["the whole log, cold"] = [_cold(Path(directory)) for _ in range(rounds)]
        say(f"cold: {rounds} starts")
        with _Served(Path(directory)) as served:
            megabytes = _warm(served, rounds, pages)
            alone_ms = _alone(served, rounds)
    print("| page | median | worst | processor time | another client waits, at worst |\n|---|--:|--:|--:|--:|")
    for name, found in pages.items():
        print(f"| {name} | {_shown(found)} |")
    print(f"\nAim: {AIM_MS} ms. " + ", ".join(f"{name} {value:.1f} MB" for name, value in megabytes.items()))
    print(f"Without a page the other client waits {max(alone_ms):.1f} ms, median {statistics.median(alone_ms):.1f}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "pages": pages, "megabytes": megabytes}, indent=1))
    say(f"wrote {path}")
    return 0


def _shown(found: list[Opened]) -> str:
    took, cpu, others = zip(*found, strict=True)
    times = f"{statistics.median(took):.0f} ms | {max(took):.0f} ms | {statistics.fmean(cpu):.0f} ms"
    return f"{times} | {max(others):.1f} ms, median {statistics.median(others):.1f}"


class _Served:
    """A broker over the log, with HTTP."""

    def __init__(self, directory: Path) -> None:
        self.http_port = unused_port()
        flags = ("--http", f"127.0.0.1:{self.http_port}", "--topic", f"{_TOPIC}:1")
        self.broker = BrokerProcess(directory, {"log.segment.bytes": SEGMENT_BYTES}, flags=flags)

    def __enter__(self) -> _Served:
        self.broker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.broker.stop()

    @property
    def rss_mb(self) -> float:
        """The resident memory of the broker's process, now."""
        return rss_mb(self.broker.pid)

    def opened(self, path: str, other: _Other) -> Opened:
        """Open a page on a new connection, and measure from the request to the response's last byte."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=_TIMEOUT_S)
        other.worst_ms()
        cpu_s, begun = cpu_seconds(self.broker.pid), time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        took_ms = (time.perf_counter() - begun) * 1000
        cpu_ms = (cpu_seconds(self.broker.pid) - cpu_s) * 1000
        connection.close()
        if answer.status != 200 or b'class="cell plain' not in body:
            raise RuntimeError(f"{path} was answered {answer.status}, or has no cells")
        return Opened(took_ms, cpu_ms, other.worst_ms())


def _fill(directory: Path, say: Callable[[str], None]) -> None:
    """Produce batches of one frame, some of them in flight at a time."""
    begun = time.perf_counter()
    records = [NewRecord(None, bytes(VALUE_BYTES), (), 1_700_000_000_000) for _ in range(IN_A_BATCH)]
    produce = PartitionProduceData(index=0, records=bytes(build_batch(records)))
    topic = TopicProduceData(name=_TOPIC, partition_data=[produce])
    request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[topic])
    sent = frame(ApiKey.PRODUCE, _PRODUCE_VERSION, request_codec(ApiKey.PRODUCE, _PRODUCE_VERSION).encode(request))
    with _Served(directory) as served, Wire(served.broker.port) as wire:
        for _ in range(RECORDS // IN_A_BATCH // _AT_ONCE):
            wire.send(sent * _AT_ONCE)
            for _ in range(_AT_ONCE):
                _check(wire.receive(_TIMEOUT_S))
    say(f"filled with {RECORDS:,} records in {time.perf_counter() - begun:.0f} s")


def _check(answer: bytes | str) -> None:
    if isinstance(answer, str):
        raise RuntimeError(f"the broker's connection is {answer}")
    error = decoded(ApiKey.PRODUCE, _PRODUCE_VERSION, answer).responses[0].partition_responses[0].error_code
    if error:
        raise RuntimeError(f"Produce was answered with error {error}")


def _cold(directory: Path) -> Opened:
    """Open the first page of a broker that was just started."""
    with _Served(directory) as served, _Other(served.broker.port) as other:
        other.wait_for(200)
        return served.opened(VIEWS[0].path(random.Random(0)), other)


def _warm(served: _Served, rounds: int, pages: dict[str, list[Opened]]) -> dict[str, float]:
    """Open pages of one broker, one after another; return its memory before and after."""
    dice = random.Random(0)
    megabytes = {"resident at the start": served.rss_mb}
    with _Other(served.broker.port) as other:
        other.wait_for(200)
        served.opened(VIEWS[0].path(dice), other)
        megabytes["after a page"] = served.rss_mb
        for view in VIEWS:
            pages[f"{view.name}, warm"] = [served.opened(view.path(dice), other) for _ in range(rounds)]
        for first in range(0, RECORDS, RECORDS // WALKED):
            served.opened(f"/console/topics/{_TOPIC}/0?from={first}&to={first + RECORDS // WALKED}", other)
        megabytes[f"after {WALKED} pages that go through it"] = served.rss_mb
    return megabytes


def _alone(served: _Served, rounds: int) -> list[float]:
    """Return the longest of so many waits of the other client, without any page."""
    found = []
    with _Other(served.broker.port) as other:
        for _ in range(rounds):
            other.wait_for(_WAITS_OF_A_PAGE)
            found.append(other.worst_ms())
    return found


class _Other(threading.Thread):
    """Another client, which repeats ApiVersions requests and records how long it waits."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._wire = Wire(port)
        self._is_over = threading.Event()
        self._is_seen = threading.Event()
        self._waits_ms: list[float] = []

    def __enter__(self) -> _Other:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join()

    def run(self) -> None:
        request = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
        while not self._is_over.is_set():
            begun = time.perf_counter()
            self._wire.ask(request, _API_VERSIONS_VERSION)
            self._waits_ms.append((time.perf_counter() - begun) * 1000)
            self._is_seen.set()
            self._is_over.wait(_REST_S)

    def wait_for(self, count: int) -> None:
        """Wait until it has been answered so often."""
        while len(self._waits_ms) < count:
            self._is_over.wait(0.01)

    def worst_ms(self) -> float:
        """Return the longest wait since the last call, the current one included."""
        self._is_seen.clear()
        self._is_seen.wait(_TIMEOUT_S)
        waits, self._waits_ms = self._waits_ms, []
        return max(waits)

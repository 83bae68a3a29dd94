"""`scripts/bench --workload registry`: our schema registry beside Apicurio Registry, in alternating rounds of one run.

One client on one connection. A registration is of a new Avro schema of twelve fields under a new subject; a lookup is
of a schema by its id, which both servers have in memory. Apicurio stores nothing here; ours writes to its log, without
syncs. Memory is of the whole process, with nothing in it and after the load: of ours with its broker, of Apicurio
without one. A start ends with the first answer; ours is measured beside that of a broker without a registry.
"""

from __future__ import annotations

import json
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from barnabas import form
from bench.measuring.warming import warm_until_flat
from bench.peers.measure import cpu_seconds, rss_mb
from tests.support.processes.broker import BrokerProcess
from tests.support.registry.servers import ApicurioInMemory, RegistryBroker

FIELDS = 12
WORKLOADS = ("registrations", "lookups")
AIMS = {
    "registrations": "<= 0.2 of the time: >= 5",
    "lookups": ">= 3",
    "empty_rss_mb": "<= 60",
}
_SLICE_S = 1.5
_STARTS = 10
_TIMEOUT_S = 60.0


class RegistryPlan(NamedTuple):
    """The number and length of rounds, and how long a server is warmed at most."""

    rounds: int
    seconds: float
    cap_s: float


FULL, QUICK = RegistryPlan(6, 4, 90), RegistryPlan(4, 2, 40)


class HttpLoad:
    """Requests on one kept connection, and their answers."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._prefix = parts.netloc, parts.path
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self._socket.close()

    def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Send a request and return the body of its answer. RuntimeError if it is an error."""
        kind = "content-type: application/vnd.schemaregistry.v1+json\r\n" if body else ""
        head = (
            f"{method} {self._prefix}{path} HTTP/1.1\r\nhost: {self._host}\r\n{kind}content-length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._more()
        answer_head, _, answer = received.partition(b"\r\n\r\n")
        lines = answer_head.lower().split(b"\r\n")
        if lines[0].split()[1] != b"200":
            raise RuntimeError(f"{method} {path}: {lines[0].decode()} {answer.decode(errors='replace')}")
        [length] = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")]
        while len(answer) < length:
            answer += self._more()
        return answer

    def _more(self) -> bytes:
        received = self._socket.recv(65_536)
        if not received:
            raise RuntimeError("the server closed the connection")
        return received


class Contender:
    """A registry that is measured."""

    def __init__(self, name: str, server: RegistryBroker | ApicurioInMemory, url: Callable[[], str]) -> None:
        self.name = name
        self._server = server
        begun = time.monotonic()
        server.start()
        self._url = url()
        self._subjects = self._schema_id = 0
        self._load = HttpLoad(self._url)
        self._load.ask("GET", "/subjects")
        self.start_s = time.monotonic() - begun
        self.empty_rss_mb = self.rss_mb

    def close(self) -> None:
        """Stop the server."""
        self._load.close()
        self._server.stop()

    @property
    def rss_mb(self) -> float:
        """The resident memory of its process."""
        return rss_mb(self._server.pid)

    def run(self, workload: str, seconds: float) -> dict[str, float]:
        """Repeat a workload's request; return its rate, the median of its time, and the processor time of each."""
        self._load.close()  # a server may have closed it while the other one was measured
        self._load = HttpLoad(self._url)
        request = self._register if workload == "registrations" else self._look_up
        spent_s, took, begun = cpu_seconds(self._server.pid), list[float](), time.monotonic()
        while time.monotonic() - begun < seconds:
            sent = time.perf_counter()
            request()
            took.append(time.perf_counter() - sent)
        cpu_us = (cpu_seconds(self._server.pid) - spent_s) * 1e6 / len(took)
        rate = len(took) / (time.monotonic() - begun)
        return {"per_second": rate, "p50_us": statistics.median(took) * 1e6, "cpu_us": cpu_us}

    def _register(self) -> None:
        self._subjects += 1
        fields = [{"name": f"field{number}_{self._subjects}", "type": "string"} for number in range(FIELDS)]
        schema = json.dumps({"type": "record", "name": f"Record{self._subjects}", "fields": fields})
        answer = self._load.ask(
            "POST", f"/subjects/measured-{self._subjects}/versions", json.dumps({"schema": schema}).encode()
        )
        self._schema_id = int(json.loads(answer)["id"])

    def _look_up(self) -> None:
        self._load.ask("GET", f"/schemas/ids/{self._schema_id}")


@contextmanager
def _contenders(directory: Path) -> Iterator[list[Contender]]:
    ours, apicurio = RegistryBroker(directory / "barnabas"), ApicurioInMemory(directory / "apicurio")
    (directory / "apicurio").mkdir()
    with ExitStack() as stack:
        found = []
        for name, server, url in (
            ("barnabas", ours, lambda: ours.registry_url),
            ("apicurio", apicurio, lambda: apicurio.confluent_url),
        ):
            found.append(Contender(name, server, url))
            stack.callback(found[-1].close)
        yield found


def main(plan: RegistryPlan, *, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print a table, write all single results."""
    rounds: dict[str, dict[str, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory(prefix="barnabas-registry-") as directory, _contenders(Path(directory)) as both:
        for workload in WORKLOADS:
            rounds[workload] = _alternating(workload, both, plan, say)
        single = {
            each.name: {"start_s": each.start_s, "empty_rss_mb": each.empty_rss_mb, "loaded_rss_mb": each.rss_mb}
            for each in both
        }
    starts = _starts()
    print(f"{plan.rounds} rounds of {plan.seconds:g} s in alternating order\n")
    print("| | figure | Barnabas | Apicurio | ratio | aim |\n|---|---|--:|--:|--:|---|")
    for workload, found in rounds.items():
        for figure in ("per_second", "p50_us", "cpu_us"):
            ours, theirs = (statistics.median(each[figure] for each in found[name]) for name in single)
            aim = AIMS[workload] if figure == "per_second" else ""
            print(f"| {workload} | {figure} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} | {aim} |")
    for figure in ("start_s", "empty_rss_mb", "loaded_rss_mb"):
        ours, theirs = (single[name][figure] for name in single)
        print(f"| | {figure} | {ours:,.2f} | {theirs:,.2f} | {ours / theirs:.2f} | {AIMS.get(figure, '')} |")
    without, with_registry = (statistics.median(each) for each in starts.values())
    print(f"\nA start without a registry {without:.3f} s, with one {with_registry:.3f} s (aim: at most 0.2 s more)")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"form": form.running(), "rounds": rounds, "single": single, "starts": starts}, indent=1)
    )
    say(f"wrote {path}")
    return 0


def _starts() -> dict[str, list[float]]:
    """Measure starts in alternating order, each in an empty directory; return seconds without and with a registry."""
    found: dict[str, list[float]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory(prefix="barnabas-registry-") as directory:
        for turn in range(_STARTS):
            found["without"].append(_start_s(BrokerProcess(Path(directory) / f"without-{turn}")))
            found["with"].append(_start_s(RegistryBroker(Path(directory) / f"with-{turn}")))
    return found


def _start_s(broker: BrokerProcess) -> float:
    begun = time.monotonic()
    with broker:
        if isinstance(broker, RegistryBroker):
            load = HttpLoad(broker.registry_url)
            load.ask("GET", "/subjects")
            load.close()
        return time.monotonic() - begun


def _alternating(
    workload: str, contenders: list[Contender], plan: RegistryPlan, say: Callable[[str], None]
) -> dict[str, list[dict[str, float]]]:
    for each in contenders:

        def rate(contender: Contender = each) -> float:
            return contender.run(workload, _SLICE_S)["per_second"]

        say(f"{workload} {each.name}: warmed {warm_until_flat(rate, time.monotonic, plan.cap_s).in_words()}")
    found: dict[str, list[dict[str, float]]] = {each.name: [] for each in contenders}
    for turn in range(plan.rounds):
        for each in contenders if turn % 2 == 0 else contenders[::-1]:
            figures = each.run(workload, plan.seconds)
            found[each.name].append(figures)
            say(f"{workload} {each.name}: " + ", ".join(f"{name} {value:,.0f}" for name, value in figures.items()))
    return found

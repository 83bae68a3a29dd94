"""`scripts/bench --workload share`: share groups on Barnabas and Apache Kafka, in alternating rounds of one run.

The clients are Java's own, in one JVM for all members of a group (`ShareLoad.java`), the same for both brokers. A rate
counts from `WARM_S` after the first record on, so that the client's code is compiled; processor time is that of the
whole run. Each run has a new group, which begins with the first record of a backlog that all runs share.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from barnabas import form
from bench.measuring import report
from bench.measuring.loads import Load, no_topic
from bench.measuring.rounds import Bench, Plan
from bench.peers.measure import PROGRAMS, run_json
from bench.peers.peer import Figures, Peer, barnabas, kafka, started
from bench.peers.topics import fresh_topic
from bench.workloads.share_reload import PARTITIONS, RECORDS_EACH, reload
from tests.support.clients.java import program_command

Run = Callable[[Peer, str, float], Figures]

FULL = Plan(rounds=5, seconds=4, cap_s=40)
QUICK = Plan(rounds=3, seconds=3, cap_s=20)
WARM_S = 2.0
BACKLOG_BYTES = 200_000_000
BACKLOG_RECORDS = 1_500_000
"""The least: fewer large ones are read before the measurement ends."""
BATCH_BYTES = 16_000
"""Of records in a batch of the backlog."""
PER_SECOND = 200
"""Records that are sent to the member that waits."""
_groups = itertools.count(1)


class Work(NamedTuple):
    """The members of a group, and what they read."""

    members: int
    partitions: int
    mode: str = "explicit"
    record_bytes: int = 100

    @property
    def records(self) -> int:
        return max(BACKLOG_BYTES // self.record_bytes, BACKLOG_RECORDS)

    def load(self, aims: dict[str, str] | None = None) -> Load:
        size = "1kB" if self.record_bytes == 1_000 else f"{self.record_bytes}B"
        return Load(
            f"{self.members}x{self.partitions}-{self.mode}-{size}",
            f"{self.members} members, {self.partitions} partitions, {self.mode}, {self.record_bytes} B",
            self.run,
            {"per_second": True},
            aims or {},
            self.backlog,
            keeps_topic=True,
        )

    def backlog(self, peer: Peer) -> str:
        """Create a topic with the records, the same ones on every peer."""
        topic = fresh_topic(peer, self.partitions)
        records = BATCH_BYTES // self.record_bytes
        batches = self.records // records
        options = {"connections": self.partitions, "partitions": self.partitions, "depth": 8, "records": records}
        peer.blast("produce", topic, **options, size=self.record_bytes, count=batches, seconds=120.0)
        return topic

    def run(self, peer: Peer, topic: str, seconds: float) -> Figures:
        """Accept the backlog, until it or the time is over."""
        return _java("work", peer, topic, self.members, self.mode, self.records, WARM_S, seconds)


def waiting(peer: Peer, topic: str, seconds: float) -> Figures:
    """Send records to a member that waits."""
    return _java("wait", peer, topic, PER_SECOND, WARM_S, seconds)


def _java(program: str, peer: Peer, topic: str, *arguments: object) -> Figures:
    group = f"bench-{next(_groups)}"
    words = (program, peer.port, topic, group, *arguments)
    return run_json(program_command(PROGRAMS / "ShareLoad.java", *map(str, words)))


_AIM = {"per_second": ">= 2", "cpu_us_per_message": "<= 0.4"}
_USUAL = [
    Work(4, 12).load(_AIM),
    Work(1, 1).load(),
    Work(4, 1).load(_AIM),
    Work(16, 12).load(),
    Work(4, 12, "implicit").load(_AIM),
    Work(4, 12, record_bytes=1_000).load(_AIM),
    Load(
        "wait",
        f"from producer to a member that waits, {PER_SECOND}/s",
        waiting,
        {"p50_us": False, "p99_us": False},
        {"p50_us": "<= 0.6"},
    ),
    Load(
        "reload",
        f"a start with {PARTITIONS * RECORDS_EACH:,} records finished or in flight",
        reload,
        {"first_answer_ms": False, "all_answers_ms": False, "cpu_ms": False},
        {"all_answers_ms": "<= 0.2"},
        no_topic,
        is_warmed=False,
    ),
]
_ALL = [
    Work(members, partitions, mode, record_bytes).load(_AIM if members == 4 else None)
    for members, partitions, mode, record_bytes in itertools.product(
        (1, 4, 16), (1, 12), ("explicit", "implicit"), (100, 1_000)
    )
]
LOADS = {load.name: load for load in [*_USUAL, *_ALL]}
USUAL = [load.name for load in _USUAL]


def main(plan: Plan, *, only: list[str], alone: bool, path: Path, say: Callable[[str], None]) -> int:
    """Measure the loads named, print the tables, write every result as JSON to `path`."""
    makers = [barnabas] if alone else [barnabas, kafka]
    with started(makers) as peers:
        bench = Bench(peers, plan, say)
        measured = [bench.measure(LOADS[name]) for name in only]
        called = [peer.name for peer in peers]
    print(f"{plan.in_words()}\n\n{report.table(measured, called)}")
    print("\nWarmed before, with the same load:\n\n" + report.warming_table(measured, called))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "loads": report.for_machines(measured)}, indent=1))
    say(f"wrote {path}")
    return 0

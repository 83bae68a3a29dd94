"""`scripts/bench --workload trace`: the cost of a broker's history to its requests, inside one process.

The same requests over the same broker, with the history on and off in turn, round by round, so that both sides share
the load of other processes; if that is much, the least of the rounds is more reliable than their median. The figures
are microseconds of processor time, as those of micro.py. The dispatcher rebuilds its entries at each change, which is
in no round that is measured.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from barnabas import form
from barnabas.broker.insight.history.history import History
from bench.in_process.micro import (
    MEMORY_FILES,
    Bench,
    Case,
    Prepare,
    fetch_of,
    follow,
    offset_commit,
    produce_idempotent,
    produce_plain,
    transaction,
)

ROUNDS, QUICK_ROUNDS = 41, 11
_EVENTS_MAX = 10_000

CASES = (
    Case("Produce, 1 record of 100 B", produce_plain, 4000),
    Case("Produce, 1 record of 100 B, idempotent", produce_idempotent, 2000),
    Case("Fetch, 16 KB", fetch_of(1000, 16, 1, 1 << 20), 2000),
    Case("Produce and the Fetch that waits for it", follow(1), 1000),
    Case("OffsetCommit, 1 partition", offset_commit, 1000),
    # 83 rounds of these raise one producer's epoch, which ends at 32,767
    Case("a transaction of 1 record, newer protocol", transaction(is_new_protocol=True), 300),
)


def main(*, rounds: int, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print a table, write all single results."""
    parent = str(MEMORY_FILES) if MEMORY_FILES.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="barnabas-traced-", dir=parent) as directory:
        found = uvloop.run(_all(directory, rounds, say))
    print("| | off, µs | on, µs | on to off | the least of each | on to off |\n|---|--:|--:|--:|--:|--:|")
    for name, pairs in found.items():
        offs, ons = zip(*pairs, strict=True)
        off, on = statistics.median(offs), statistics.median(ons)
        least = f"{min(offs):.2f}, {min(ons):.2f} | {min(ons) / min(offs):.3f}"
        print(f"| {name} | {off:.2f} | {on:.2f} | {on / off:.3f} | {least} |")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "off_and_on_us": found}, indent=1))
    say(f"wrote {path}")
    return 0


async def _all(directory: str, rounds: int, say: Callable[[str], None]) -> dict[str, list[tuple[float, float]]]:
    bench = Bench(directory)
    found = {}
    for case in CASES:
        found[case.name] = await _measured(bench, case, rounds)
        say(f"{case.name}: {rounds} rounds")
    await bench.broker.stop()
    return found


async def _measured(bench: Bench, case: Case, rounds: int) -> list[tuple[float, float]]:
    """Return the microseconds per request without the history and with it, of each pair of rounds."""
    prepare = case.make(bench)
    await prepare(case.requests)
    pairs = []
    for number in range(rounds):
        if number % 2:
            on_us = await _with_history(bench, prepare, case)
            pairs.append((await process_us(prepare, case), on_us))
        else:
            off_us = await process_us(prepare, case)
            pairs.append((off_us, await _with_history(bench, prepare, case)))
    return pairs


async def _with_history(bench: Bench, prepare: Prepare, case: Case) -> float:
    clock = bench.broker.services.clock
    events = bench.broker.events
    history = History(events, now_ms=clock.now_ms, machine_now_ms=clock.now_ms, events_max=_EVENTS_MAX)
    try:
        return await process_us(prepare, case)
    finally:
        history.close()


async def process_us(prepare: Prepare, case: Case) -> float:
    """Return the microseconds of processor time per request, of one round after a short one that warms."""
    await prepare(max(1, case.requests // 10))
    work = prepare(case.requests)
    start = time.process_time_ns()
    await work
    return (time.process_time_ns() - start) / 1000 / case.requests

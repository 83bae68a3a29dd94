"""`scripts/bench`: Barnabas and Apache Kafka side by side, in one run, in alternating rounds.

Prints a Markdown table of medians, spreads and ratios and writes the same with every single result as JSON.
Nothing here fails for being slow: speed is measured, never asserted. The processors of the machine are shared
with whatever else runs, so trust ratios.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from tests.bench import hostile, micro, starting, transactions
from tests.bench.measure import ROOT
from tests.bench.peers import Peer, barnabas, kafka
from tests.bench.report import summary, table
from tests.bench.workloads import WORKLOADS, w1, w2, w6

ALONE = {"start", "txn"}
FULL_WARM_S, QUICK_WARM_S = 45.0, 30.0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def warm(peer: Peer, seconds: float) -> None:
    """The same kinds of load as will be measured, so that a JIT has seen them all."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        for workload in (w1, w2, w6):
            workload(peer, seconds / 45 * 0.3)


def start_and_memory(make: Any, directory: Path, times: int) -> dict[str, float]:
    """W12: spawn to ready, median of several starts of an empty directory; and resident memory while idle."""
    starts, idle = [], 0.0
    for number in range(times):
        peer = make(directory / f"{number}")
        peer.start()
        starts.append(peer.start_ms)
        time.sleep(1)  # idle is what is measured
        idle = peer.rss_mb()
        peer.stop()
    return {"ready_ms": statistics.median(starts), "idle_rss_mb": idle}


def run_rounds(
    peers: list[Peer], names: list[str], rounds: int, scale: float
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Every workload on every peer in turn, `rounds` times."""
    results: dict[str, dict[str, list[dict[str, Any]]]] = {name: {peer.name: [] for peer in peers} for name in names}
    for name in names:
        for number in range(rounds):
            order = peers if number % 2 == 0 else peers[::-1]
            for peer in order:
                result = peer.measured(WORKLOADS[name].run, scale)
                results[name][peer.name].append(result)
                say(f"{name} {peer.name}: " + ", ".join(f"{key} {value:,.1f}" for key, value in result.items()))
    return results


def under_unkind_clients(peer: Peer) -> dict[str, Any]:
    """Print what they do to the others, or that the others got no answer: that ends no run."""
    try:
        figures = hostile.run(peer)
    except (RuntimeError, TimeoutError, KafkaException) as error:
        print(f"\nunkind clients, {peer.name}: the others could not go on ({error!r})")
        return {"error": repr(error)}
    print(f"\nunkind clients, {peer.name}: " + ", ".join(f"{key} {value:,.0f}" for key, value in figures.items()))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure Barnabas beside Apache Kafka.")
    parser.add_argument("--quick", action="store_true", help=f"two short rounds after {QUICK_WARM_S:.0f} s of warming")
    parser.add_argument("--alone", action="store_true", help="measure Barnabas without Apache Kafka: no ratios")
    parser.add_argument(
        "--workload",
        action="append",
        choices=[*WORKLOADS, *ALONE],
        help="only this one; may be repeated. txn: all of transactions, start: brokers for tests; each alone",
    )
    parser.add_argument("--micro", action="store_true", help="only processor time per request, inside one process")
    parser.add_argument("--hostile", action="store_true", help="also the unkind clients")
    parser.add_argument(
        "--json", type=Path, default=ROOT / ".cache" / "bench" / "result.json", help="where the JSON goes"
    )
    options = parser.parse_args()
    if options.micro:
        micro.main()
        return 0
    rounds, scale, warm_s = (2, 0.25, QUICK_WARM_S) if options.quick else (5, 1.0, FULL_WARM_S)
    for name in ALONE.intersection(options.workload or []):
        if options.workload != [name]:
            parser.error(f"--workload {name} stands alone")
        if name == "start":
            return starting.main(rounds=2 * rounds - 1, alone=options.alone, path=options.json, say=say)
        return transactions.main(
            rounds=rounds, scale=scale, warm_s=warm_s, alone=options.alone, path=options.json, say=say
        )
    makers = [barnabas] if options.alone else [barnabas, kafka]
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as scratch:
        directory = Path(scratch)
        starts = {
            make.__name__: start_and_memory(make, directory / "start" / make.__name__, 5 if make is barnabas else 2)
            for make in makers
        }
        peers = [make(directory / make.__name__) for make in makers]
        try:
            for peer in peers:
                peer.start()
                say(f"warming {peer.name} for {warm_s:.0f} s")
                warm(peer, warm_s)
            results = run_rounds(peers, options.workload or list(WORKLOADS), rounds, scale)
            rows = summary(results, "barnabas", "kafka")
            print(f"{rounds} rounds, scale {scale}, warmed {warm_s:.0f} s; {platform.platform()}")
            if options.quick:
                print(f"quick: a JVM wants {FULL_WARM_S:.0f} s of warming, so its figures are too low here")
            print("\n" + table(rows, "barnabas", "kafka"))
            for name, figures in starts.items():
                print(f"\nW12 {name}: ready in {figures['ready_ms']:.0f} ms, {figures['idle_rss_mb']:.0f} MB idle")
            unkind = {peer.name: under_unkind_clients(peer) for peer in peers} if options.hostile else {}
        finally:
            for peer in peers:
                peer.stop()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"rows": rows, "start": starts, "hostile": unkind, "rounds": results}, indent=1))
    say(f"wrote {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`scripts/bench`: Barnabas and Apache Kafka side by side, in one run, in alternating rounds.

Prints Markdown tables of medians, spreads and ratios, and how each was warmed, and writes the same with every single
result as JSON. Nothing here fails for being slow: speed is measured, never asserted. Other processes use the processors
of the machine, too, so trust ratios.
"""

import argparse
import json
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from barnabas import form
from bench.in_process import growth, guarded, held_memory, micro, moved_clock, share_micro, traced
from bench.measuring import measured_form, report
from bench.measuring.rounds import FULL, QUICK, Bench, Plan
from bench.peers.entrances import ENTRANCES, Entrance
from bench.peers.measure import ROOT
from bench.peers.peer import MakePeer, Peer, barnabas, floor, kafka, kfake, started
from bench.workloads import (
    cleaning,
    console_pages,
    hostile,
    many_partitions,
    registries,
    restarts,
    shares,
    starting,
    transactions,
)
from bench.workloads.table import QUICK as QUICK_NAMES
from bench.workloads.table import SECURED, WORKLOADS

ALONE = {"clean", "clock", "console", "guarded", "partitions", "registry", "restart", "share", "start", "trace", "txn"}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def under_unkind_clients(peer: Peer) -> dict[str, Any]:
    """Print the effect on the other clients, or that they got no answer: that does not end the run."""
    try:
        figures = hostile.run(peer)
    except (RuntimeError, TimeoutError, KafkaException) as error:
        print(f"\nunkind clients, {peer.name}: the other clients failed ({error!r})")
        return {"error": repr(error)}
    print(f"\nunkind clients, {peer.name}: " + ", ".join(f"{key} {value:,.0f}" for key, value in figures.items()))
    return figures


def side_by_side(
    names: list[str], plan: Plan, *, brokers: list[MakePeer], beside: list[MakePeer], with_unkind: bool, path: Path
) -> int:
    """Measure `brokers` and, in the loads that they support, those `beside` them; print the tables, write every result
    as JSON to `path`. Unkind clients are for `brokers` alone.
    """
    makers = [*brokers, *beside]
    with started(makers) as peers:
        bench = Bench(peers, plan, say)
        measured = [bench.measure(WORKLOADS[name]) for name in names]
        print(f"{plan.in_words()}; {platform.platform()}")
        called = [peer.name for peer in peers]
        print("\n" + report.table(measured, called))
        print("\nWarmed before, with the same load:\n\n" + report.warming_table(measured, called))
        unkind = {peer.name: under_unkind_clients(peer) for peer in peers[: len(brokers)]} if with_unkind else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    results = {"form": form.running(), "loads": report.for_machines(measured), "hostile": unkind}
    path.write_text(json.dumps(results, indent=1))
    say(f"wrote {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    described = "Measure Barnabas beside Apache Kafka."
    parser = argparse.ArgumentParser(prog="scripts/bench", description=described, allow_abbrev=False)
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"W1 to W11, {QUICK.in_words()}: some ten minutes; without it everything, {FULL.in_words()}",
    )
    parser.add_argument("--alone", action="store_true", help="measure Barnabas without Apache Kafka: no ratios")
    parser.add_argument(
        "--floor",
        action="store_true",
        help="also a C program that makes a broker's system calls and nothing else, for W5raw, W6, W7 and W8raw:"
        " how far from the possible each broker is",
    )
    parser.add_argument(
        "--kfake",
        action="store_true",
        help="also kfake, a broker in memory, for W5, W5raw, W6, W7 and W9: its data must fit in memory",
    )
    parser.add_argument(
        "--workload",
        action="append",
        choices=[*WORKLOADS, *ALONE],
        help="only this one; may be repeated. txn: all of transactions, start: brokers for tests,"
        " restart: starts over many partitions, clean: compaction, clock: a clock moved by days,"
        " trace: requests with the trace on and off, guarded: with an authorizer and with quotas,"
        " console: the page of a partition of ten million records, share: share groups,"
        " registry: the schema registry beside Apicurio's, partitions: 10,000 of them; each alone",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="ROW",
        choices=list(shares.LOADS),
        help=f"of --workload share only this row; may be repeated. By default {', '.join(shares.USUAL)}",
    )
    parser.add_argument(
        "--over",
        choices=list(ENTRANCES),
        default="plain",
        help=f"how the clients connect; except over plain the loads are {', '.join(SECURED)}",
    )
    parser.add_argument("--micro", action="store_true", help="only processor time per request, inside one process")
    parser.add_argument(
        "--growth",
        action="store_true",
        help="only the cost of a request with a hundred times as much in the broker, and the memory for each thing",
    )
    parser.add_argument("--hostile", action="store_true", help="also the unkind clients")
    parser.add_argument(
        "--json", type=Path, default=ROOT / ".cache" / "bench" / "result.json", help="the JSON file to write"
    )
    measured_form.add_option(parser)
    return parser


def _alone(name: str, options: argparse.Namespace, plan: Plan) -> int:
    """Run a workload that cannot be combined with others."""
    is_quick, compared = options.quick, {"alone": options.alone, "path": options.json, "say": say}
    match name:
        case "start":
            return starting.main(rounds=2 * plan.rounds - 1, **compared)
        case "clock":
            rounds = moved_clock.QUICK_ROUNDS if is_quick else moved_clock.ROUNDS
            return moved_clock.main(rounds=rounds, path=options.json, say=say)
        case "console":
            rounds = console_pages.QUICK_ROUNDS if is_quick else console_pages.ROUNDS
            return console_pages.main(rounds=rounds, path=options.json, say=say)
        case "guarded":
            rounds = guarded.QUICK_ROUNDS if is_quick else guarded.ROUNDS
            return guarded.main(rounds=rounds, path=options.json, say=say)
        case "trace":
            rounds = traced.QUICK_ROUNDS if is_quick else traced.ROUNDS
            return traced.main(rounds=rounds, path=options.json, say=say)
        case "partitions":
            return many_partitions.main(many_partitions.QUICK if is_quick else many_partitions.FULL, **compared)
        case "registry":
            return registries.main(registries.QUICK if is_quick else registries.FULL, path=options.json, say=say)
        case "share":
            share_plan = shares.QUICK if is_quick else shares.FULL
            return shares.main(share_plan, only=options.only or shares.USUAL, **compared)
        case "clean":
            return cleaning.main(cleaning.QUICK if is_quick else cleaning.FULL, **compared)
        case "restart":
            return restarts.main(restarts.QUICK if is_quick else restarts.FULL, **compared)
    return transactions.main(plan, **compared)


def _by(entrance: Entrance, make: Callable[[Path, Entrance], Peer]) -> MakePeer:
    """Return the maker of a peer whose loads connect by `entrance`."""

    def made(directory: Path) -> Peer:
        return make(directory, entrance)

    made.__name__ = make.__name__
    return made


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no broker outlives a run that is terminated
    print(measured_form.in_words(options.form), flush=True)
    if options.micro:
        micro.main()
        share_micro.main()
        return 0
    if options.growth:
        growth.main()
        held_memory.main()
        return 0
    plan = QUICK if options.quick else FULL
    for name in ALONE.intersection(options.workload or []):
        if options.workload != [name]:
            parser.error(f"--workload {name} runs alone: omit the other workloads")
        return _alone(name, options, plan)
    entrance = ENTRANCES[options.over]
    if not entrance.is_plain and (options.kfake or options.floor):
        parser.error("--kfake and --floor have no protected listener: leave --over out")
    everything = QUICK_NAMES if options.quick else list(WORKLOADS)
    names = options.workload or (everything if entrance.is_plain else SECURED)
    return side_by_side(
        names,
        plan,
        brokers=[_by(entrance, barnabas)] if options.alone else [_by(entrance, barnabas), _by(entrance, kafka)],
        beside=[*([kfake] if options.kfake else []), *([floor] if options.floor else [])],
        with_unkind=options.hostile,
        path=options.json,
    )


if __name__ == "__main__":
    sys.exit(main())

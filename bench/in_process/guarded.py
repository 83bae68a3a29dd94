"""`scripts/bench --workload guarded`: the cost of an authorizer and quotas per request, inside one process.

The same requests to three brokers in turn, round by round: one without either, one with an authorizer whose
entries allow the requests, and one with quotas that are never reached. The figures are microseconds of processor time,
as those of micro.py.
"""

import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import uvloop

from barnabas import form
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.metadata.image.client_quotas import QuotaAlteration
from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.session.operations import Operation, Resource
from bench.in_process.micro import MEMORY_FILES, Bench, Case, Prepare
from bench.in_process.traced import CASES, process_us

ROUNDS, QUICK_ROUNDS = 41, 11
_OTHER_USERS = 100
_UNREACHED = 1e12
_GUARDED = (Resource.TOPIC, Resource.GROUP, Resource.TRANSACTIONAL_ID)


def _plain(path: Path) -> Bench:
    return Bench(str(path))


def _authorized(path: Path) -> Bench:
    """Create a broker with an authorizer. The sender is no super user; other users have entries, too."""
    bench = Bench(str(path), {"authorizer.class.name": STANDARD_AUTHORIZER})
    access = bench.broker.services.access
    assert access is not None
    users = ["ANONYMOUS", *map("user-{}".format, range(_OTHER_USERS))]
    for user in users:
        entries = [
            Acl(resource, "*", PatternType.LITERAL, f"User:{user}", "*", Operation.ALL, Permission.ALLOW)
            for resource in _GUARDED
        ]
        assert access.acls.create(entries) == [None] * len(entries)
    return bench


def _limited(path: Path) -> Bench:
    bench = Bench(str(path))
    kinds = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
    wish = QuotaAlteration({"user": None}, [(kind, _UNREACHED) for kind in kinds])
    [(_, error)] = bench.broker.services.catalogue.client_quotas.alter([wish], validate_only=False)
    assert error is None, error
    return bench


BROKERS = {"plain": _plain, "authorizer": _authorized, "quotas": _limited}
Figures = dict[str, list[float]]
"""Microseconds per request of each round, by broker."""


def main(*, rounds: int, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print a table, write all single results."""
    parent = str(MEMORY_FILES) if MEMORY_FILES.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="barnabas-guarded-", dir=parent) as directory:
        found = uvloop.run(_all(Path(directory), rounds, say))
    print("| | plain, µs | authorizer, µs | to plain | quotas, µs | to plain |\n|---|--:|--:|--:|--:|--:|")
    for name, figures in found.items():
        plain, authorized, limited = (statistics.median(figures[each]) for each in BROKERS)
        ratios = f"{authorized:.2f} | {authorized / plain:.2f} | {limited:.2f} | {limited / plain:.2f}"
        print(f"| {name} | {plain:.2f} | {ratios} |")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "us": found}, indent=1))
    say(f"wrote {path}")
    return 0


async def _all(directory: Path, rounds: int, say: Callable[[str], None]) -> dict[str, Figures]:
    benches = {name: make(directory / name) for name, make in BROKERS.items()}
    found = {}
    for case in CASES:
        found[case.name] = await _measured(benches, case, rounds)
        say(f"{case.name}: {rounds} rounds")
    for bench in benches.values():
        await bench.broker.stop()
    return found


async def _measured(benches: dict[str, Bench], case: Case, rounds: int) -> Figures:
    prepared: dict[str, Prepare] = {name: case.make(bench) for name, bench in benches.items()}
    for prepare in prepared.values():
        await prepare(case.requests)
    figures: Figures = {name: [] for name in benches}
    for number in range(rounds):
        for name in list(prepared) if number % 2 else reversed(list(prepared)):
            figures[name].append(await process_us(prepared[name], case))
    return figures

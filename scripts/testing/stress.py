"""Runs groups of tests many times beside a load that keeps the processors busy, and counts the runs that failed.

A test that a busy machine fails is a defect: it measures the machine, reads half a line, or releases a port too early.
So is one that needs Kafka's own port, on which a developer's broker may be listening: the load uses that, too.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from scripts.testing.groups import Group
from scripts.testing.results import Row
from scripts.testing.running import HANGS_AFTER_S, Depth, run_all

BUSY_PROCESSES = 4
PLACES = 3  # for groups at a time: they load each other, too; more, and Spark gives up after 10 s on its own Python
KAFKAS_PORT = 9092
SLOWER = 3  # how much longer a group may take beside the load


def stress(groups: Sequence[Group], arguments: tuple[str, ...], rounds: int) -> int:
    """Run each of `groups` `rounds` times beside the load, print a table, and return an exit status."""
    depth = Depth(arguments=arguments, hangs_after_s=SLOWER * HANGS_AFTER_S)
    runs: list[list[Row]] = []
    with _load():
        for number in range(1, rounds + 1):
            print(f"\nround {number} of {rounds}", flush=True)
            runs.append(run_all(groups, depth, PLACES))
    print(f"\n{'group':<15} {'form':<8} {'good':>9} {'seconds':>8}  beside {BUSY_PROCESSES} busy processes")
    for rows in zip(*runs, strict=True):
        good, longest = sum(row.is_good for row in rows), max(row.seconds for row in rows)
        group = rows[0].group
        print(f"{group.name:<15} {group.form:<8} {f'{good} of {rounds}':>9} {longest:>8.1f}")
    every = [row for rows in runs for row in rows]
    failed = sum(row.failed for row in every)
    print(f"\n{sum(row.passed for row in every)} passed, {failed} failed", flush=True)
    return 0 if all(row.is_good for row in every) else 1


@contextmanager
def _load() -> Iterator[None]:
    """Keep processes busy and Kafka's port in use for as long as the block runs."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_PROCESSES)]
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # it is in use already
            listener.bind(("", KAFKAS_PORT))
            listener.listen()
        try:
            yield
        finally:
            for process in processes:
                process.kill()
                process.wait()

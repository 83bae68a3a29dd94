"""`scripts/bench --workload clock`: the cost of moving a broker's clock by days, over many idle transactional ids.

Each round has fresh brokers: an empty one, one with 10,000 ids that stay, one with as many that expire on the way. The
figures are of `broker.clock.advance`, called from another process. Kafka has no such clock to compare with.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from barnabas import Barnabas, form
from barnabas.client.client import Client
from barnabas.client.transaction_requests import init_producer

IDS = 10_000
ROUNDS, QUICK_ROUNDS = 5, 2


class Move(NamedTuple):
    """ids: the number of transactional ids. by: how far the clock is moved. left: the number of ids after that."""

    name: str
    ids: int
    by: str
    left: int


MOVES = (
    Move("empty, 7d", 0, "7d", 0),
    Move("10,000 ids that stay, 7d", IDS, "7d", IDS),
    Move("10,000 ids that expire, 8d", IDS, "8d", 0),
)


def main(*, rounds: int, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print a table, write all single results."""
    seconds: dict[str, list[float]] = {move.name: [] for move in MOVES}
    for number in range(rounds):
        for move in MOVES:
            seconds[move.name].append(_measured(move))
            say(f"round {number + 1} of {rounds}: {move.name}: {seconds[move.name][-1]:.2f} s")
    print("| `advance` | seconds, median | of all rounds |\n|---|--:|---|")
    for name, found in seconds.items():
        print(f"| {name} | {statistics.median(found):.2f} | {', '.join(f'{each:.2f}' for each in found)} |")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"form": form.running(), "seconds": seconds}, indent=1))
    say(f"wrote {path}")
    return 0


def _measured(move: Move) -> float:
    with Barnabas(log_level="warning") as broker, Client(broker.bootstrap_servers) as client:
        for number in range(move.ids):
            init_producer(client, f"idle-{number}", timeout_ms=60_000)
        broker.clock.freeze()
        begun = time.perf_counter()
        broker.clock.advance(move.by)
        took_s = time.perf_counter() - begun
        left = len(broker.transactions())
    if left != move.left:
        raise RuntimeError(f"{left} ids are left, not {move.left}")
    return took_s

"""The results of a run: medians, spreads and ratios as Markdown tables that can be pasted into a document, and
everything for machines. Pure: measurements in, text or plain data out.

A ratio is always that of two medians of the same run.
"""

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.measuring.loads import Load
from bench.measuring.rounds import Measured
from bench.measuring.warming import SPREAD

OURS = "barnabas"
TITLES = {"barnabas": "Barnabas", "kafka": "Apache Kafka", "kfake": "kfake", "floor": "floor"}
NOISY_PERCENT = 12
"""If other processes used so much of the machine's processor time, the figure is that of a busy machine."""
COSTS = (
    "cpu_s_per_gb",
    "clients_cpu_s_per_gb",
    "cpu_us_per_request",
    "cpu_us_per_transaction",
    "cpu_us_per_message",
    "rss_mb",
)


class Spread(NamedTuple):
    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.least)}–{number(self.most)})"


def spread(measured: Measured, peer: str, figure: str) -> Spread | None:
    values = [float(figures[figure]) for figures in measured.rounds.get(peer, []) if figure in figures]
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def ratio(ours: Spread | None, theirs: Spread | None) -> str:
    return f"{ours.median / theirs.median:.2f}" if ours and theirs and theirs.median else ""


def best(all_measured: Sequence[Measured], load: Load, peer: str, figure: str) -> Spread | None:
    """Return a peer's best among the loads that are the same work as this one, requested in different ways."""
    same = [each for each in all_measured if each.load == load or (load.rivals and each.load.rivals == load.rivals)]
    found = [each for each in (spread(measured, peer, figure) for measured in same) if each]
    choose = max if load.figures.get(figure) else min
    return choose(found, key=lambda each: each.median) if found else None


def table(all_measured: Sequence[Measured], peers: Sequence[str]) -> str:
    """Return a row for each figure of each load; ratios are ours to each of the others' best in the same work."""
    others = [peer for peer in peers if peer != OURS]
    columns = [TITLES[peer] for peer in peers] + [f"to {TITLES[peer]}" for peer in others] + ["aim"]
    lines = _head(["", "figure", *columns], 2)
    for measured in all_measured:
        for figure in [*measured.load.figures, *COSTS]:
            found = {peer: spread(measured, peer, figure) for peer in peers}
            if any(found.values()):
                cells = [str(each or "") for each in found.values()]
                cells += [ratio(found[OURS], best(all_measured, measured.load, peer, figure)) for peer in others]
                lines.append(_row([measured.load.name, figure, *cells, measured.load.aims.get(figure, "")]))
    return "\n".join(lines)


def transactions_table(all_measured: Sequence[Measured], peers: Sequence[str]) -> str:
    """Return a row for each load: transactions per second, the commit's p99, processor time of each."""
    others = [peer for peer in peers if peer != OURS]
    columns = [f"{TITLES[peer]}, per second" for peer in peers] + [f"to {TITLES[peer]}" for peer in others]
    lines = _head(["", *columns, "commit p99, ms", "processor, µs each", "aim"], 1)
    for measured in all_measured:
        load, rate = measured.load, next(iter(measured.load.figures))
        cells = [str(spread(measured, peer, rate) or "") for peer in peers]
        ours = spread(measured, OURS, rate)
        cells += [ratio(ours, best(all_measured, load, peer, rate)) for peer in others]
        p99s = [spread(measured, peer, "commit_p99_us") for peer in peers]
        costs = [
            spread(measured, peer, "cpu_us_per_transaction") or spread(measured, peer, "cpu_us_per_request")
            for peer in peers
        ]
        cells += [" / ".join(f"{each.median / 1000:.2f}" if each else "–" for each in p99s) if any(p99s) else ""]
        cells += [" / ".join(f"{each.median:,.0f}" if each else "–" for each in costs)]
        lines.append(_row([load.title, *cells, load.aims.get(rate, "")]))
    return "\n".join(lines)


def warming_table(all_measured: Sequence[Measured], peers: Sequence[str]) -> str:
    """Return how each peer was warmed for each load, whether it became flat, and its later level: the median of its
    rounds to the last slices of its warming. And the most that the rest of the machine spent during a round.
    """
    lines = _head(["", *(TITLES[peer] for peer in peers), "other processes, at most"], 1 + len(peers))
    for measured in all_measured:
        cells = [_warmed(measured, peer) for peer in peers]
        others = max(figures["others_percent"] for each in measured.rounds.values() for figures in each)
        noisy = ": BUSY" if others > NOISY_PERCENT else ""
        lines.append(_row([measured.load.name, *cells, f"{others:.0f} %{noisy}"]))
    return "\n".join(lines)


def _warmed(measured: Measured, peer: str) -> str:
    rounds = measured.rounds.get(peer)
    if not rounds:
        return ""
    if peer not in measured.warmings:
        return "just started, as the load requires"
    warming = measured.warmings[peer]
    since = statistics.median(map(measured.load.pace, rounds)) / warming.level
    rose = ", ROSE since" if since > 1 + SPREAD else ""
    return f"{warming.in_words()}; rounds {since:.2f} of it{rose}"


def for_machines(all_measured: Sequence[Measured]) -> dict[str, Any]:
    return {
        measured.load.name: {
            "title": measured.load.title,
            "warming": {peer: warming._asdict() for peer, warming in measured.warmings.items()},
            "rounds": measured.rounds,
        }
        for measured in all_measured
    }


def _head(columns: Sequence[str], left: int) -> list[str]:
    """Return the first two lines: so many columns to the left, and the last (aim, remark); numbers to the right."""
    marks = ["---" if place < left or place == len(columns) - 1 else "--:" for place in range(len(columns))]
    return [_row(columns), "|" + "|".join(marks) + "|"]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"

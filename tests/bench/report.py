"""Medians, spreads and ratios of alternating rounds, as a table for people and as JSON for machines."""

from __future__ import annotations

import statistics
from typing import Any

from tests.bench.workloads import WORKLOADS

Rounds = dict[str, dict[str, list[dict[str, Any]]]]


def summary(rounds: Rounds, first: str, second: str) -> list[dict[str, Any]]:
    """One row per compared figure: both medians, their spread (min, max) and the ratio first to second."""
    rows = []
    for workload, by_peer in rounds.items():
        definition = WORKLOADS[workload]
        for figure in [*definition.figures, "cpu_s_per_gb", "cpu_s_per_1000_requests", "rss_mb"]:
            values = {name: [r[figure] for r in results if figure in r] for name, results in by_peer.items()}
            if not all(values.get(name) for name in (first, second) if name in by_peer):
                continue
            row: dict[str, Any] = {"workload": workload, "figure": figure, "aim": definition.aims.get(figure, "")}
            for name, numbers in values.items():
                row[name] = {"median": statistics.median(numbers), "min": min(numbers), "max": max(numbers)}
            if first in row and second in row and row[second]["median"]:
                row["ratio"] = row[first]["median"] / row[second]["median"]
            rows.append(row)
    return rows


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def table(rows: list[dict[str, Any]], first: str, second: str) -> str:
    """The rows as a Markdown table."""
    lines = [f"| | figure | {first} | {second} | ratio | aim |", "|---|---|--:|--:|--:|---|"]
    for row in rows:
        cells = []
        for name in (first, second):
            if name in row:
                spread = row[name]
                cells.append(f"{number(spread['median'])} ({number(spread['min'])}–{number(spread['max'])})")
            else:
                cells.append("")
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
        lines.append(f"| {row['workload']} | {row['figure']} | {cells[0]} | {cells[1]} | {ratio} | {row['aim']} |")
    return "\n".join(lines)

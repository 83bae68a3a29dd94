"""The demo's report: its events, as pictures on one page that needs no other file."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COLOURS = {
    "validate": "#1f6f8b",
    "aggregate": "#c86b1f",
    "committed": "#3a7d44",
    "aborted": "#a23b3b",
    "kill": "#7a1fa2",
}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em } svg { max-width: 100%; height: auto }
table { border-collapse: collapse } td, th { text-align: left; padding: .2em .8em; border-bottom: 1px solid #ddd }
.right { color: #3a7d44 } .wrong { color: #a23b3b } .unknown { color: #8a6d00 } pre { white-space: pre-wrap }
"""


def page(directory: Path, seed: int, outcomes: Mapping[str, int]) -> str:
    """Return the page, from the files in the demo's directory. `outcomes`: the number of orders by their outcome."""
    notes = _lines(directory / "notes.jsonl")
    verdict = _verdict(directory)
    batches = _batches(directory / "metrics.jsonl", notes)
    kills = [(note["at_s"], note["victim"]) for note in notes if note["event"] == "kill"]
    pictures = {
        "Results of the orders": _stages(verdict, outcomes),
        "Batches over time": _over_time(batches, kills),
        "Lag of the jobs": _lag(notes, kills),
        "Transactions": _transactions(notes, kills),
    }
    figures = "".join(f"<h2>{title}</h2>{picture}" for title, picture in pictures.items())
    answer = f"<span class={verdict['verdict']}>{verdict['verdict']}</span>"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Barnabas: the demo</title><style>{_STYLE}</style>"
        f"<h1>The pipeline after {_kills(kills)}: {answer}</h1>"
        f"<p>Seed {seed}. {_summary(batches, outcomes)}</p>{_table(verdict)}{figures}</html>\n"
    )


def acknowledged_are_there(directory: Path, outcomes: Mapping[str, int]) -> bool:
    """Return whether the audit counted all committed orders of the shop; those in doubt may be there too."""
    found = _counts(_verdict(directory), "coverage").get("orders.raw", -1)
    return outcomes.get("committed", 0) <= found <= outcomes.get("committed", 0) + outcomes.get("in doubt", 0)


def _verdict(directory: Path) -> dict[str, Any]:
    path = directory / "verdict.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"verdict": "unknown", "checks": []}
    return found


def _counts(verdict: Mapping[str, Any], name: str) -> dict[str, int]:
    return next((check["counts"] for check in verdict["checks"] if check["name"] == name), {})


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the file's records, without a last line that a kill cut short."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().split("\n")[:-1] if line.endswith("}")]


def _batches(path: Path, notes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the batches that Spark reported, with the seconds at which they ended."""
    began_ms = next((note["began_ms"] for note in notes if "began_ms" in note), 0)
    return [
        {**each, "at_s": (each["at_ms"] - began_ms) / 1000}
        for each in _lines(path)
        if each["event"] == "batch" and each["add_batch_ms"] > 0
    ]


def _kills(kills: Sequence[Any]) -> str:
    return "one kill" if len(kills) == 1 else f"{len(kills)} kills"


def _summary(batches: Sequence[Any], outcomes: Mapping[str, int]) -> str:
    orders = ", ".join(f"{count:,} {html.escape(outcome)}" for outcome, count in outcomes.items())
    return f"Orders, by the result that their producer got: {orders}. {len(batches)} batches."


def _table(verdict: Mapping[str, Any]) -> str:
    rows = []
    for check in verdict["checks"]:
        counts = ", ".join(f"{html.escape(name)} {count:,}" for name, count in check["counts"].items())
        found = "".join(f"<br>{html.escape(kind)}: {count:,}" for kind, count in check["found"].items())
        listed = "".join(f"<pre>{html.escape(json.dumps(each))}</pre>" for each in check["findings"])
        unknown = f"<br>{html.escape(check['unknown'])}" if check["unknown"] else ""
        answer = f"<td class={check['verdict']}>{check['verdict']}</td>"
        rows.append(f"<tr><td>{html.escape(check['name'])}</td>{answer}<td>{counts}{found}{unknown}{listed}</td></tr>")
    return f"<table><tr><th>check</th><th>answer</th><th>counted</th></tr>{''.join(rows)}</table>"


# --- pictures ---


def _figure(width: float = 9, height: float = 2.8) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _svg(figure: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _mark(axes: Any, kills: Sequence[tuple[float, str]]) -> None:
    for at_s, victim in kills:
        axes.axvline(at_s, color=COLOURS["kill"], linewidth=1, linestyle=":")
        place = (at_s, 1.0)
        axes.annotate(victim, place, xycoords=("data", "axes fraction"), rotation=30, fontsize=7, color=COLOURS["kill"])


def _stages(verdict: Mapping[str, Any], outcomes: Mapping[str, int]) -> str:
    covered, sums = _counts(verdict, "coverage"), _counts(verdict, "sums")
    bars = {
        "orders aborted": outcomes.get("aborted", 0),
        "orders committed": outcomes.get("committed", 0),
        "orders.raw, read": covered.get("orders.raw", 0),
        "orders.valid": covered.get("orders.valid", 0),
        "orders.rejected": covered.get("orders.rejected", 0),
        "revenue.1m": sums.get("written", 0),
    }
    figure, axes = _figure(height=2.4)
    colours = [COLOURS["aborted"], COLOURS["committed"], *[COLOURS["validate"]] * 3, COLOURS["aggregate"]]
    drawn = axes.barh(list(bars), list(bars.values()), color=colours)
    axes.bar_label(drawn, labels=[f"{count:,}" for count in bars.values()], padding=4, fontsize=8)
    axes.invert_yaxis()
    return _svg(figure)


def _over_time(batches: Sequence[Mapping[str, Any]], kills: Sequence[tuple[float, str]]) -> str:
    figure, axes = _figure()
    for name in ("validate", "aggregate"):
        own = [each for each in batches if each["query"] == name]
        sizes = [10 + each["rows"] ** 0.5 for each in own]
        places = [each["at_s"] for each in own], [each["took_ms"] for each in own]
        axes.scatter(*places, s=sizes, color=COLOURS[name], alpha=0.6, label=name, linewidths=0)
    axes.set(xlabel="seconds", ylabel="milliseconds a batch", xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)
    _mark(axes, kills)
    return _svg(figure)


def _lag(notes: Sequence[Mapping[str, Any]], kills: Sequence[tuple[float, str]]) -> str:
    seen = [note for note in notes if note["event"] == "seen"]
    figure, axes = _figure()
    for name in ("validate", "aggregate"):
        lag = [note["stages"][name]["end"] - note["stages"][name]["read"] for note in seen]
        axes.plot([note["at_s"] for note in seen], lag, color=COLOURS[name], label=name)
    axes.set(xlabel="seconds", ylabel="offsets behind", xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)
    _mark(axes, kills)
    return _svg(figure)


def _transactions(notes: Sequence[Mapping[str, Any]], kills: Sequence[tuple[float, str]]) -> str:
    from matplotlib.figure import Figure

    seen = [note for note in notes if note["event"] == "seen"]
    times = [note["at_s"] for note in seen]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    outcomes, under_way = figure.subplots(2, 1, sharex=True)
    for outcome in ("committed", "aborted"):
        outcomes.plot(
            times, [note["acks"].get(outcome, 0) for note in seen], color=COLOURS[outcome], label=f"shop: {outcome}"
        )
    states = [note["transactions"] for note in seen]
    under_way.step(
        times, [each.get("Ongoing", 0) for each in states], where="post", color=COLOURS["validate"], label="open now"
    )
    under_way.set(xlabel="seconds")
    for axes in (outcomes, under_way):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="upper left")
        axes.set(xlim=(0, None), ylim=(0, None))
    _mark(outcomes, kills)
    return _svg(figure)

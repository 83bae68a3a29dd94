"""Events as a trace in the JSON format of Chrome's tracing, which Perfetto opens: tracks, spans and instants. Pure.

A transactional id, a group and a connection have a track each; all other events are on the broker's own. A
transaction is a span on its track, from its begin to its completion, which contains another span from the decision to
the completion. Timestamps are microseconds of the broker's clock; events of the same millisecond keep their order, one
microsecond apart, as long as there are enough microseconds.

Invariants: a span ends on the track on which it begins; timestamps on a track never decrease.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Event = Mapping[str, Any]

_PROCESSES = {"broker": 1, "transactional id": 2, "group": 3, "connection": 4}
_PREPARED, _COMPLETED, _BEGUN = "transaction.prepared", "transaction.completed", "transaction.begun"
_REBALANCING, _REBALANCED = "group.rebalance_begun", "group.rebalance_completed"


def trace_of(events: Iterable[Event]) -> dict[str, Any]:
    """Return the whole file. events: as /control/trace returns them, the oldest first."""
    tracks = _Tracks()
    for event in events:
        tracks.add(event)
    tracks.close()
    return {"displayTimeUnit": "ms", "traceEvents": tracks.written}


class _Tracks:
    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._open: dict[tuple[str, str], list[str]] = {}
        self._at_us = 0
        for name, pid in _PROCESSES.items():
            self._name("process_name", pid, 0, name)

    def add(self, event: Event) -> None:
        """Add one event after all earlier ones."""
        self._at_us = max(event["at_ms"] * 1000, self._at_us + 1)
        track, kind = _track_of(event), event["kind"]
        if kind == _BEGUN:
            self._close_all(track)
            self._begin(track, "transaction", event)
        elif kind == _PREPARED:
            self._begin(track, "commit" if event["facts"]["is_commit"] else "abort", event)
        elif kind == _REBALANCING:
            self._close_all(track)
            self._begin(track, "rebalance", event)
        else:
            self._moment(track, event)
        if kind in (_COMPLETED, _REBALANCED):
            self._close_all(track)

    def close(self) -> None:
        """Close all open spans at the end of the trace."""
        self._at_us += 1
        for track in list(self._open):
            self._close_all(track)

    def _begin(self, track: tuple[str, str], name: str, event: Event) -> None:
        self._open.setdefault(track, []).append(name)
        self._write("B", track, name, args=_arguments(event), cat=event["kind"].partition(".")[0])

    def _moment(self, track: tuple[str, str], event: Event) -> None:
        category, _, name = event["kind"].partition(".")
        self._write("i", track, f"{category} {name}", args=_arguments(event), cat=category, s="t")

    def _close_all(self, track: tuple[str, str]) -> None:
        for name in reversed(self._open.pop(track, [])):
            self._write("E", track, name)

    def _write(self, phase: str, track: tuple[str, str], name: str, **more: Any) -> None:
        pid, tid = _PROCESSES[track[0]], self._number_of(track)
        self.written.append({"name": name, "ph": phase, "ts": self._at_us, "pid": pid, "tid": tid, **more})

    def _number_of(self, track: tuple[str, str]) -> int:
        number = self._numbers.get(track)
        if number is None:
            number = self._numbers[track] = len(self._numbers) + 1
            self._name("thread_name", _PROCESSES[track[0]], number, track[1])
        return number

    def _name(self, what: str, pid: int, tid: int, name: str) -> None:
        self.written.append({"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}})


def _track_of(event: Event) -> tuple[str, str]:
    facts, cause = event["facts"], event["cause"]
    if facts.get("transactional_id"):
        return "transactional id", facts["transactional_id"]
    if facts.get("group"):
        return "group", facts["group"]
    peer = facts.get("peer") or cause.get("peer")
    return ("connection", peer) if peer else ("broker", "broker")


def _arguments(event: Event) -> dict[str, Any]:
    cause = event["cause"]
    return {**event["facts"], **({"cause": dict(cause)} if cause else {}), "number": event["number"]}

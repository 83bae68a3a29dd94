"""The values that `broker.faults.arm` takes: what a fault matches, and what it does. docs/faults.md describes each key.

`FaultMatch` and `FaultEffect` define the keys. `FaultKeywords` repeats them for type checkers, which cannot derive it
(a test compares them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultMatch:
    """The conditions of a fault: all that are given have to hold. None is not given; a text may have `*` in it.

    FaultMatch(api="EndTxn", transactional_id="orders-*") matches requests, FaultMatch(point="topic.created") a step of
    the broker, and FaultMatch(disk="sync", topic="orders") operations on files.
    """

    api: str | None = None
    version: int | Mapping[str, int] | None = None
    """One version, or {"min": 3, "max": 5}."""
    node: int | None = None
    listener: str | None = None
    connection: str | None = None
    """The client's address and port."""
    client_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    point: str | None = None
    disk: Literal["append", "sync", "read"] | None = None
    file: str | None = None
    nth: int | None = None
    """Matches before the n-th do not fire."""
    probability: float | None = None
    """Above 0, and at most 1."""
    facts: Mapping[str, str | int | bool] | None = None
    """Facts of the point. In JSON they are among the other keys."""

    def as_json(self) -> dict[str, Any]:
        """Return the `match` of a plan. Raises TypeError for a fact that is also given as a condition."""
        given = _given(self)
        return united(given, given.pop("facts", {}), "a condition and in facts")


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEffect:
    """The effects of a fault: FaultEffect(lose_answer=True). None and False are not given."""

    error: str | None = None
    """The name of an error code; for a fault of the disk ENOSPC or EIO."""
    drop: bool = False
    lose_answer: bool = False
    cut: Literal["before", "middle", "after"] | None = None
    """Where the connection is closed, relative to the answer."""
    delay: str | Mapping[str, str] | None = None
    """"200ms", {"min": "100ms", "max": "1s"} or {"mean": "200ms"}."""
    pause: bool = False
    throttle: int | None = None
    """Bytes per second."""
    crash: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the `do` of a plan."""
        return _given(self)


class FaultKeywords(TypedDict, total=False):
    """The fields of both values as keywords."""

    api: str | None
    version: int | Mapping[str, int] | None
    node: int | None
    listener: str | None
    connection: str | None
    client_id: str | None
    topic: str | None
    partition: int | None
    group: str | None
    transactional_id: str | None
    point: str | None
    disk: Literal["append", "sync", "read"] | None
    file: str | None
    nth: int | None
    probability: float | None
    facts: Mapping[str, str | int | bool] | None
    error: str | None
    drop: bool
    lose_answer: bool
    cut: Literal["before", "middle", "after"] | None
    delay: str | Mapping[str, str] | None
    pause: bool
    throttle: int | None
    crash: bool


CONDITIONS = tuple(each.name for each in fields(FaultMatch))
EFFECTS = tuple(each.name for each in fields(FaultEffect))


def split(keywords: Mapping[str, Any]) -> tuple[FaultMatch, FaultEffect]:
    """Return the values that these keywords define. Each is a field of one of the two."""
    return (
        FaultMatch(**{key: value for key, value in keywords.items() if key in CONDITIONS}),
        FaultEffect(**{key: value for key, value in keywords.items() if key in EFFECTS}),
    )


def match_json(match: FaultMatch | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a plan's `match` for the value, or for a mapping that is one. Raises TypeError for anything else."""
    if isinstance(match, FaultMatch):
        return match.as_json()
    return _mapping(match, "match is a FaultMatch")


def effect_json(do: FaultEffect | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a plan's `do` for the value, or for a mapping that is one. Raises TypeError for anything else."""
    if isinstance(do, FaultEffect):
        return do.as_json()
    return _mapping(do, "do is a FaultEffect")


def json_of(value: object) -> dict[str, Any]:
    """Return the JSON object of a value within a plan, as the `default` of json.dumps. Raises TypeError for others."""
    if isinstance(value, FaultMatch | FaultEffect):
        return value.as_json()
    raise TypeError(f"a fault is made of JSON values, FaultMatch and FaultEffect, not {value!r}")


def united(first: Mapping[str, Any], second: Mapping[str, Any], places: str) -> dict[str, Any]:
    """Return the keys of both. Raises TypeError for a key that both have. places: `a keyword and in match`."""
    for key in first:
        if key in second:
            raise TypeError(f"{key} is given twice: as {places}")
    return {**first, **second}


def _given(value: FaultMatch | FaultEffect) -> dict[str, Any]:
    every = {each.name: getattr(value, each.name) for each in fields(value)}
    return {key: given for key, given in every.items() if given is not None and given is not False}


def _mapping(value: Any, known: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{known} or a mapping with the keys of a plan, not {value!r}")
    return value

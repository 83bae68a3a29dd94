"""Whether a fault matches, and whether it then fires. Pure except for the counters of `Chances`.

A text in a match is a pattern: `*` stands for any characters, including none; every other character for itself.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from barnabas.broker.control.faults.model import (
    Delay,
    DiskFileKind,
    DiskMatch,
    DiskOperation,
    Often,
    PointMatch,
    RequestMatch,
)

_MEANS_MAX = 20
"""An exponentially distributed delay is at most this many times its mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestNames:
    """The names in a request's body. partitions: by topic; None for a topic that is named as a whole."""

    partitions: Mapping[str, Collection[int] | None] = field(default_factory=dict)
    groups: Collection[str] = ()
    transactional_ids: Collection[str] = ()


NOTHING = RequestNames()


def fits(pattern: str | None, text: str) -> bool:
    """Return whether the text matches the pattern. None matches everything."""
    if pattern is None or pattern == text:
        return True
    first, *rest = pattern.split("*")
    if not rest or not text.startswith(first):
        return False
    *inner, last = rest
    position = len(first)
    for part in inner:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return len(text) - position >= len(last) and text.endswith(last)


def matches_body(match: RequestMatch, names: RequestNames) -> bool:
    """Return whether the names in a request match."""
    if match.group is not None and not _any_fits(match.group, names.groups):
        return False
    if match.transactional_id is not None and not _any_fits(match.transactional_id, names.transactional_ids):
        return False
    if match.topic is None and match.partition is None:
        return True
    return any(
        matches_partition(match, topic, number)
        for topic, numbers in names.partitions.items()
        for number in ((None,) if numbers is None else numbers)
    )


def matches_partition(match: RequestMatch | DiskMatch, topic: str, partition: int | None) -> bool:
    """Return whether topic and partition match. partition: None if only the topic is named."""
    return fits(match.topic, topic) and (match.partition is None or match.partition == partition)


def matches_point(match: PointMatch, kind: str, facts: Mapping[str, Any]) -> bool:
    """Return whether this step with these facts matches."""
    return match.point == kind and all(
        _any_fits(wanted, _texts(facts.get(name))) if isinstance(wanted, str) else facts.get(name) == wanted
        for name, wanted in match.facts.items()
    )


def _texts(fact: Any) -> Iterable[str]:
    """Return a fact as texts: one for each element of a list."""
    return [str(each) for each in fact] if isinstance(fact, list | tuple) else [str(fact)]


class DiskPlace(NamedTuple):
    """A file on the disk. topic: empty for a file of the whole data directory."""

    file: DiskFileKind
    topic: str = ""
    partition: int | None = None


def matches_disk(match: DiskMatch, operation: DiskOperation, place: DiskPlace) -> bool:
    """Return whether the operation and the file match."""
    if match.operation is not operation or match.file is not place.file:
        return False
    return matches_partition(match, place.topic, place.partition)


def _any_fits(pattern: str, texts: Iterable[str]) -> bool:
    return any(fits(pattern, text) for text in texts)


class Chances:
    """Counts how often a fault matched and fired, and decides whether it fires at the next match.

    Uses a separate random generator: other faults, and the requests that match them, do not change its decisions.
    """

    def __init__(self, often: Often, seed: int, name: str) -> None:
        self._often = often
        self._random = random.Random(f"{seed}/{name}")
        self.matched = 0
        self.fired = 0

    @property
    def is_over(self) -> bool:
        """Whether it no longer fires."""
        return self._often.times is not None and self.fired >= self._often.times

    def fires(self) -> bool:
        """Count one more match, and return whether the fault fires."""
        self.matched += 1
        if self.matched < self._often.nth or self.is_over:
            return False
        if self._often.probability < 1 and self._random.random() >= self._often.probability:
            return False
        self.fired += 1
        return True

    def delay_ms(self, delay: Delay) -> float:
        """Draw one delay from this distribution."""
        if delay.mean_ms is not None:
            return min(self._random.expovariate(1 / delay.mean_ms), _MEANS_MAX * delay.mean_ms)
        return self._random.uniform(delay.min_ms, delay.max_ms)

"""Compares versions of any language's packages: by their numbers, in order."""

from __future__ import annotations

import re
from collections.abc import Iterable

_RELEASE = re.compile(r"v?\d+(\.\d+)*(\.(Final|GA|RELEASE))?")


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version."""
    return tuple(int(digits) for digits in re.findall(r"\d+", version))


def is_newer(one: str, other: str) -> bool:
    """Return whether the version `one` is newer than `other`; the time and commit after a dash do not count."""
    return numbers(one.partition("-")[0]) > numbers(other.partition("-")[0])


def newest(versions: Iterable[str]) -> str | None:
    """Return the newest release among versions, which are not in order; None if all are previews."""
    return max(filter(_RELEASE.fullmatch, versions), key=numbers, default=None)

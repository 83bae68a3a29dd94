"""What was found: how bad it is, a sentence, and what would help."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """How bad something is. Only a problem keeps a broker from starting or clients from using it."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(NamedTuple):
    """One thing that was looked at."""

    check: str
    level: Level
    says: str
    advice: str | None = None


def ok(check: str, says: str) -> Finding:
    """All is well."""
    return Finding(check, Level.OK, says)


def note(check: str, says: str, advice: str | None = None) -> Finding:
    """Worth knowing."""
    return Finding(check, Level.NOTE, says, advice)


def warning(check: str, says: str, advice: str | None = None) -> Finding:
    """It works, but probably not as it was meant."""
    return Finding(check, Level.WARNING, says, advice)


def problem(check: str, says: str, advice: str | None = None) -> Finding:
    """It does not work."""
    return Finding(check, Level.PROBLEM, says, advice)

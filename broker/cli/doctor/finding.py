"""A finding: its severity, a sentence, and advice."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """The severity of a finding. Only a problem prevents a broker from starting or clients from using it."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(NamedTuple):
    """The result of one check."""

    check: str
    level: Level
    says: str
    advice: str | None = None


def ok(check: str, says: str) -> Finding:
    """Return a finding of level OK: all is well."""
    return Finding(check, Level.OK, says)


def note(check: str, says: str, advice: str | None = None) -> Finding:
    """Return a finding of level NOTE: worth knowing."""
    return Finding(check, Level.NOTE, says, advice)


def warning(check: str, says: str, advice: str | None = None) -> Finding:
    """Return a finding of level WARNING: it works, but probably not as intended."""
    return Finding(check, Level.WARNING, says, advice)


def problem(check: str, says: str, advice: str | None = None) -> Finding:
    """Return a finding of level PROBLEM: it does not work."""
    return Finding(check, Level.PROBLEM, says, advice)

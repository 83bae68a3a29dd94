"""A finding: its severity, a sentence, and advice."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """The severity of a finding. Only a problem prevents a start or the use by clients, or loses data."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


class CheckResult(NamedTuple):
    """The result of one check."""

    check: str
    level: Level
    text: str
    advice: str | None = None


def ok(check: str, text: str) -> CheckResult:
    """Return a finding of level OK: all is well."""
    return CheckResult(check, Level.OK, text)


def note(check: str, text: str, advice: str | None = None) -> CheckResult:
    """Return a finding of level NOTE: worth knowing."""
    return CheckResult(check, Level.NOTE, text, advice)


def warning(check: str, text: str, advice: str | None = None) -> CheckResult:
    """Return a finding of level WARNING: it works, but probably not as intended."""
    return CheckResult(check, Level.WARNING, text, advice)


def problem(check: str, text: str, advice: str | None = None) -> CheckResult:
    """Return a finding of level PROBLEM: it does not work."""
    return CheckResult(check, Level.PROBLEM, text, advice)

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


class CheckResult(NamedTuple):
    """The result of one check."""

    check: str
    level: Level
    says: str
    advice: str | None = None


def ok(check: str, says: str) -> CheckResult:
    """Return a finding of level OK: all is well."""
    return CheckResult(check, Level.OK, says)


def note(check: str, says: str, advice: str | None = None) -> CheckResult:
    """Return a finding of level NOTE: worth knowing."""
    return CheckResult(check, Level.NOTE, says, advice)


def warning(check: str, says: str, advice: str | None = None) -> CheckResult:
    """Return a finding of level WARNING: it works, but probably not as intended."""
    return CheckResult(check, Level.WARNING, says, advice)


def problem(check: str, says: str, advice: str | None = None) -> CheckResult:
    """Return a finding of level PROBLEM: it does not work."""
    return CheckResult(check, Level.PROBLEM, says, advice)

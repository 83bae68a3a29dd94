"""The findings of an audit, and the verdict: right, wrong, or unknown.

A check that was not done proves nothing, so the whole cannot be right; a check with findings makes the verdict wrong,
whatever the others say. Findings name their topic, partition and offset, so that they can be looked up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple


class Verdict(Enum):
    """The answer, and its exit status."""

    RIGHT = 0
    WRONG = 1
    UNKNOWN = 2


class PipelineFinding(NamedTuple):
    """An error that was found. Fields that do not apply are None; `detail` is a sentence."""

    kind: str
    topic: str | None
    partition: int | None
    offset: int | None
    detail: str


@dataclass(frozen=True)
class Check:
    """One question, and its answer.

    counts: the numbers of checked items. found: how many findings of each kind; `findings` are the first of them.
    unknown: why there is no answer; None if there is one.
    """

    name: str
    counts: Mapping[str, int] = field(default_factory=dict)
    found: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[PipelineFinding] = ()
    unknown: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict: findings count, even if other parts could not be checked."""
        if any(self.found.values()):
            return Verdict.WRONG
        return Verdict.RIGHT if self.unknown is None else Verdict.UNKNOWN


def check(name: str, findings: Sequence[PipelineFinding], counts: Mapping[str, int], *, shown: int = 20) -> Check:
    """Return a check with all of its findings."""
    found: dict[str, int] = {}
    for each in findings:
        found[each.kind] = found.get(each.kind, 0) + 1
    return Check(name, counts, found, tuple(findings[:shown]))


def overall(checks: Sequence[Check]) -> Verdict:
    """Return the audit's verdict."""
    verdicts = {each.verdict for each in checks}
    if Verdict.WRONG in verdicts:
        return Verdict.WRONG
    return Verdict.UNKNOWN if Verdict.UNKNOWN in verdicts or not checks else Verdict.RIGHT


def as_json(checks: Sequence[Check], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole report."""
    return {
        "verdict": overall(checks).name.lower(),
        **facts,
        "checks": [
            {
                "name": each.name,
                "verdict": each.verdict.name.lower(),
                "counts": dict(each.counts),
                "found": dict(each.found),
                "findings": [finding._asdict() for finding in each.findings],
                "unknown": each.unknown,
            }
            for each in checks
        ],
    }


def as_text(report: Mapping[str, Any]) -> str:
    """Format the report for people, the verdict last."""
    lines = []
    for each in report["checks"]:
        counts = ", ".join(f"{name} {count}" for name, count in each["counts"].items())
        lines.append(
            f"{each['name']}: {each['verdict']} ({counts})" if counts else f"{each['name']}: {each['verdict']}"
        )
        if each["unknown"]:
            lines.append(f"  {each['unknown']}")
        lines += [f"  {kind}: {count}" for kind, count in each["found"].items()]
        lines += [f"    {_place(finding)}{finding['detail']}" for finding in each["findings"]]
    return "\n".join([*lines, f"verdict: {report['verdict']}"])


def dump(report: Mapping[str, Any]) -> str:
    """Return the report as the text of a file."""
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _place(finding: Mapping[str, Any]) -> str:
    if finding["topic"] is None:
        return ""
    place = finding["topic"] if finding["partition"] is None else f"{finding['topic']}-{finding['partition']}"
    return f"{place}: " if finding["offset"] is None else f"{place} offset {finding['offset']}: "

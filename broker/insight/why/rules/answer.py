"""An answer: sentences, the important one first, and the facts beneath them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

STANDS = (
    "The broker's clock stands, so that no timeout and no delay comes to its end: `barnabas clock run` lets it go on, "
    "`barnabas clock advance TIME` moves it."
)
"""Beside answers about what waits, where the clock is frozen."""


class Answer(NamedTuple):
    """What is told to whoever asked why. str() is the sentences, a line each."""

    sentences: tuple[str, ...]
    evidence: Mapping[str, Any]

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def as_json(self) -> dict[str, Any]:
        """The same as a value for JSON."""
        return {"sentences": list(self.sentences), "evidence": dict(self.evidence)}


def evidence(facts: Any) -> dict[str, Any]:
    """Facts by name, for an answer. None, the empty and what begins with `_` is left out."""
    return {
        name: plain(value)
        for name, value in facts._asdict().items()
        if value is not None and value != () and not name.startswith("_")
    }


def plain(value: Any) -> Any:
    """A value of a NamedTuple as JSON has it."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "_asdict"):
        return evidence(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(each) for each in value]
    return value

"""An answer: sentences, the important one first, and the facts as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

STANDS = (
    "The broker's clock is frozen, so no timeout and no delay ends: `barnabas clock run` starts it again, "
    "`barnabas clock advance TIME` moves it."
)
"""Added to answers about waits while the clock is frozen."""


class WhyAnswer(NamedTuple):
    """The answer to a query of `why`. str() is the sentences, a line each."""

    sentences: tuple[str, ...]
    evidence: Mapping[str, Any]

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def as_json(self) -> dict[str, Any]:
        """Return the answer as a value for JSON."""
        return {"sentences": list(self.sentences), "evidence": dict(self.evidence)}


def evidence(facts: Any) -> dict[str, Any]:
    """Return facts by name, for an answer. Omits None, empty values and names that begin with `_`."""
    return {
        name: plain(value)
        for name, value in facts._asdict().items()
        if value is not None and value != () and not name.startswith("_")
    }


def plain(value: Any) -> Any:
    """Convert a value of a NamedTuple to JSON values."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "_asdict"):
        return evidence(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(each) for each in value]
    return value

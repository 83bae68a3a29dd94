"""The content types of the API, all of them JSON: which one a client accepts, and which bodies are taken."""

from __future__ import annotations

from functools import lru_cache

V1, DEFAULT, PLAIN_JSON = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
)
_WEIGHTS = {V1: 1.0, DEFAULT: 0.9, PLAIN_JSON: 0.5}
_TAKEN = (V1, DEFAULT, PLAIN_JSON, "application/octet-stream")


@lru_cache(64)
def accepted_type(accept: str) -> str | None:
    """Return the type of an answer for an Accept header, the preferred one without it; None if none is accepted."""
    ranges = [_media_range(each) for each in accept.split(",") if each.strip()]
    if not ranges:
        return V1
    best = max(_WEIGHTS, key=lambda name: _quality(name, ranges) * _WEIGHTS[name])
    return best if _quality(best, ranges) > 0 else None


def is_taken(content_type: str) -> bool:
    """Return whether a body of this type is taken; one without a type is."""
    return not content_type or content_type.partition(";")[0].strip().lower() in _TAKEN


def _media_range(text: str) -> tuple[str, float]:
    name, *params = (part.strip().lower() for part in text.split(";"))
    for param in params:
        key, _, value = param.partition("=")
        if key.strip() == "q":
            try:
                return name, float(value)
            except ValueError:
                return name, 0.0
    return name, 1.0


def _quality(name: str, ranges: list[tuple[str, float]]) -> float:
    """Return the quality that the most specific range gives to a type."""
    for wanted in (name, f"{name.partition('/')[0]}/*", "*/*"):
        for given, quality in ranges:
            if given == wanted:
                return quality
    return 0.0

"""The releases of Apache Kafka that can read a directory, by the levels of its features. Pure.

A release aborts its start at the first FeatureLevelRecord above its highest level, or of an unknown feature.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.metadata.image.image import METADATA_VERSION

_ALWAYS = {"eligible.leader.replicas.version": 1, "group.version": 1, "transaction.version": 2}

RELEASES: Mapping[str, Mapping[str, int]] = {
    "4.0": {METADATA_VERSION: 25, **_ALWAYS},
    "4.1": {METADATA_VERSION: 27, **_ALWAYS, "share.version": 1, "streams.version": 1},
    "4.2": {METADATA_VERSION: 29, **_ALWAYS, "share.version": 1, "streams.version": 1},
    "4.3": {METADATA_VERSION: 30, **_ALWAYS, "share.version": 1, "streams.version": 1},
    "4.4": {METADATA_VERSION: 33, **_ALWAYS, "share.version": 2, "streams.version": 1},
}
"""For each release the highest level of each feature that it knows, without unstable ones."""

NEWEST = "4.4"
KEEPS_PREPARED: frozenset[str] = frozenset()
"""The releases whose brokers let a producer resume its prepared transaction (KIP-939): none so far."""


def release_of(version: str) -> str | None:
    """Return the release of a version such as 4.3.1; None if it is unknown here."""
    release = ".".join(version.split(".")[:2])
    return release if release in RELEASES else None


def too_high(levels: Mapping[str, int], release: str) -> dict[str, int]:
    """Return the features whose level the release does not know, `metadata.version` first, and the highest it knows."""
    known = RELEASES[release]
    ordered = sorted(levels, key=lambda name: (name != METADATA_VERSION, name))
    return {name: known.get(name, 0) for name in ordered if levels[name] > known.get(name, 0)}


def why_not(levels: Mapping[str, int], release: str) -> str | None:
    """Return the first level that the release does not know, in words; None if it knows all of them."""
    for name, highest in too_high(levels, release).items():
        knows = f"knows it up to {highest}" if highest else "does not know it"
        return f"{name} is at level {levels[name]}, and Apache Kafka {release} {knows}"
    return None


def readers(levels: Mapping[str, int]) -> list[str]:
    """Return the releases that can read a directory of these levels, the oldest first."""
    return [release for release in RELEASES if why_not(levels, release) is None]

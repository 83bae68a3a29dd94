"""Which releases of Apache Kafka read a directory: by the levels of its features. Pure.

A release ends its start with the first FeatureLevelRecord above what it knows, or of a feature that it does not know.
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
"""For each release the highest level of each feature that it knows, unstable ones left out."""

NEWEST = "4.4"
KEEPS_PREPARED: frozenset[str] = frozenset()
"""The releases whose brokers let a producer come back to its prepared transaction (KIP-939): none so far."""


def release_of(version: str) -> str | None:
    """The release that a version such as 4.3.1 is of; None if it is none that is known here."""
    release = ".".join(version.split(".")[:2])
    return release if release in RELEASES else None


def why_not(levels: Mapping[str, int], release: str) -> str | None:
    """The first level that the release does not know, in words; None if it knows all of them."""
    known = RELEASES[release]
    for name, level in sorted(levels.items(), key=lambda each: (each[0] != METADATA_VERSION, each[0])):
        if level > known.get(name, 0):
            highest = f"knows it up to {known[name]}" if name in known else "does not know it"
            return f"{name} is at level {level}, and Apache Kafka {release} {highest}"
    return None


def readers(levels: Mapping[str, int]) -> list[str]:
    """The releases that read a directory of these levels, the oldest first."""
    return [release for release in RELEASES if why_not(levels, release) is None]

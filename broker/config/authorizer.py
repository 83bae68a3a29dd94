"""The authorizer's settings: its class, and `super.users`, principals with all rights (`User:name;User:other`)."""

from __future__ import annotations

from typing import Final

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""The only supported value of `authorizer.class.name`."""


def super_users(text: str | None) -> frozenset[str]:
    """Return the principals. ValueError for an entry that is no principal."""
    found = frozenset(word.strip() for word in (text or "").split(";") if word.strip())
    for principal in sorted(found):
        kind, colon, _ = principal.partition(":")
        if not colon or not kind:
            raise ValueError(f"super.users: {principal} is not a principal: write it as User:name")
    return found

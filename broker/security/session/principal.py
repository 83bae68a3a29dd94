"""Who a connection speaks for, as Kafka writes it: `User:name`."""

from __future__ import annotations

from typing import NamedTuple


class Principal(NamedTuple):
    """A KafkaPrincipal."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def of(cls, text: str) -> Principal:
        """What `str` made: the kind ends at the first colon."""
        kind, _, name = text.partition(":")
        return cls(kind, name)


USER = "User"
"""The kind of whoever has logged in."""
ANONYMOUS = Principal(USER, "ANONYMOUS")
"""Whoever comes in by a listener that does not authenticate."""

"""Who a connection speaks for, as Kafka writes it: `User:name`."""

from __future__ import annotations

from typing import NamedTuple


class Principal(NamedTuple):
    """A KafkaPrincipal."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
"""Whoever comes in by a listener that does not authenticate."""

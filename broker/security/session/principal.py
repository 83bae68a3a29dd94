"""The principal of a connection, in Kafka's form: `User:name`."""

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
        """Parse the result of `str`: the kind ends at the first colon."""
        kind, _, name = text.partition(":")
        return cls(kind, name)


USER = "User"
"""The kind of authenticated principals."""
ANONYMOUS = Principal(USER, "ANONYMOUS")
"""The principal of clients on a listener that does not authenticate."""
INTERNAL = Principal("Internal", "broker")
"""The principal of the broker's own connections, of a kind that no client gets: it has all rights."""

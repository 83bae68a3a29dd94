"""The file of --command-config: a client.properties file of Kafka, which configures how connections are secured.

Variables in values are resolved by Kafka's configuration providers, as the Java clients do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings


class ClientProperties(NamedTuple):
    """The contents of the file. bootstrap: its bootstrap.servers, None if it has none."""

    security: SecuritySettings | None = None
    bootstrap: str | None = None


def read(path: str) -> ClientProperties:
    """Read the file. Raise ValueError with one sentence that contains no secret value."""
    from barnabas.client.security.client_properties import read_properties
    from barnabas.client.security.properties import security_of

    found = read_properties(path)
    try:
        return ClientProperties(security_of(found), found.get("bootstrap.servers"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None

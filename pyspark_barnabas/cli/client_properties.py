"""The file of --command-config: a client.properties of Kafka's, which says how connections are secured.

Variables in values are resolved by Kafka's configuration providers, as Java's clients do it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import properties
from barnabas.protocol.files.config_providers import resolved

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings

_BYTES_MAX = 1 << 20


class ClientProperties(NamedTuple):
    """What the file says. bootstrap: its bootstrap.servers, None where it has none."""

    security: SecuritySettings | None = None
    bootstrap: str | None = None


def read(path: str) -> ClientProperties:
    """What the file says. ValueError in one sentence, without a value that is secret."""
    from barnabas.client.security.properties import security_of

    try:
        found = properties.decode(_content(path))
    except OSError as error:
        raise ValueError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except DecodeError:
        raise ValueError(f"{path} is not a properties file in UTF-8") from None
    try:
        found = resolved(found, _content, os.environ)
        return ClientProperties(security_of(found), found.get("bootstrap.servers", "").strip() or None)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _content(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_BYTES_MAX)

"""The file of --command-config: a client.properties of Kafka's, which says how connections are secured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import properties

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
        with Path(path).open("rb") as file:
            found = properties.decode(file.read(_BYTES_MAX))
    except OSError as error:
        raise ValueError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except DecodeError:
        raise ValueError(f"{path} is not a properties file in UTF-8") from None
    if "config.providers" in found:
        raise ValueError(f"{path}: config.providers are not resolved here: write the values into the file")
    try:
        return ClientProperties(security_of(found), found.get("bootstrap.servers", "").strip() or None)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None

"""A Kafka client.properties file, as for --command-config of its tools: read, with its variables resolved.

Variables in values are resolved by Kafka's configuration providers (KIP-297), as Java's clients do it.
properties.py interprets the properties.
"""

from __future__ import annotations

import os

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import properties
from barnabas.protocol.files.config_providers import UnresolvedError, resolved

_BYTES_MAX = 1 << 20


def read_properties(path: str) -> dict[str, str]:
    """Return names and values of the file. ValueError in one sentence that begins with its path, without a value."""
    try:
        return resolved(properties.decode(_content(path)), _content, os.environ)
    except OSError as error:
        raise ValueError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except DecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    except UnresolvedError as error:
        raise ValueError(f"{path}: {error}") from None


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_BYTES_MAX)

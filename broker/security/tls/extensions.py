"""The extensions of a certificate, and the alternative names among them. Pure; ValueError for other bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.security.stores.der import (
    OBJECT_IDENTIFIER,
    OCTET_STRING,
    SEQUENCE,
    elements,
    object_identifier,
    only,
)

_EXTENSIONS = 0xA3
_CRITICAL = b"\x01\x01\xff"
_ALTERNATIVE_NAMES = "2.5.29.17"


class Extension(NamedTuple):
    """An extension: its object identifier, and its content."""

    number: str
    is_critical: bool
    value: bytes


def extensions(certificate: bytes) -> Iterator[Extension]:
    """Yield the extensions in their order."""
    parts = list(elements(only(certificate, SEQUENCE)))
    for field in elements(parts[0].content) if parts else ():
        if field.tag != _EXTENSIONS:
            continue
        for extension in elements(only(field.content, SEQUENCE)):
            words = list(elements(extension.content))
            if words and words[0].tag == OBJECT_IDENTIFIER and words[-1].tag == OCTET_STRING:
                is_critical = any(word.encoded == _CRITICAL for word in words)
                yield Extension(object_identifier(words[0].content), is_critical, words[-1].content)


def alternative_names(certificate: bytes) -> frozenset[bytes]:
    """Return the alternative names, each in its encoding."""
    for each in _of_alternative_names(certificate):
        return frozenset(name.encoded for name in elements(only(each.value, SEQUENCE)))
    return frozenset()


def has_critical_alternative_names(certificate: bytes) -> bool:
    """Return whether the alternative names are critical: they alone name the subject where its field is empty."""
    return any(each.is_critical for each in _of_alternative_names(certificate))


def _of_alternative_names(certificate: bytes) -> Iterator[Extension]:
    return (each for each in extensions(certificate) if each.number == _ALTERNATIVE_NAMES)

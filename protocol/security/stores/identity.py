"""The content of a store: a private key with its certificates, and trusted certificates.

Printing it never shows the key.
"""

from __future__ import annotations

from base64 import b64encode
from typing import NamedTuple


class StoreError(ValueError):
    """A store cannot be used. str() is a sentence that names it and contains no secret."""


class Identity:
    """A private key and the certificates for it, its own first."""

    __slots__ = ("chain", "key_password", "key_pem")

    def __init__(self, key_pem: str, key_password: str | None, chain: tuple[bytes, ...]) -> None:
        """Take `key_pem`: encrypted with `key_password` if there is one. `chain`: certificates in DER."""
        self.key_pem = key_pem
        self.key_password = key_password
        self.chain = chain

    def __repr__(self) -> str:
        return f"Identity({len(self.chain)} certificates)"


class Store(NamedTuple):
    """The content of a store."""

    identity: Identity | None = None
    trusted: tuple[bytes, ...] = ()
    """Certificates in DER."""


def pem_of(label: str, der: bytes) -> str:
    """Return DER as PEM."""
    text = b64encode(der).decode()
    lines = (text[at : at + 64] for at in range(0, len(text), 64))
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""))

"""Key and trust stores in PEM: certificates, and one private key, with anything between them.

As in Kafka: text around the blocks is ignored, blanks may replace line breaks (a value in a properties file is one
line), and there is one key. Pure; encrypted keys stay encrypted, OpenSSL decrypts them.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from typing import NamedTuple

from barnabas.protocol.security.stores.identity import Identity, StoreError, pem_of

CERTIFICATE = "CERTIFICATE"
_ENCRYPTED = "ENCRYPTED PRIVATE KEY"
_BLOCK = re.compile(
    r"-----BEGIN ([A-Z0-9 ]+)-----\s+((?:[A-Za-z0-9-]+:[^\r\n]*[\r\n]+)*)([a-zA-Z0-9/+=\s]*)-----END \1-----"
)


class Block(NamedTuple):
    """One block of a PEM text."""

    label: str
    is_encrypted: bool
    der: bytes


def blocks(text: str, where: str) -> list[Block]:
    """Return the blocks of a text. StoreError."""
    found = []
    for match in _BLOCK.finditer(text):
        label, headers, data = match.groups()
        try:
            der = b64decode("".join(data.split()), validate=True)
        except NotBase64:
            raise StoreError(f"{where}: a {label} in it is not base64") from None
        if headers:
            raise StoreError(f"{where}: a {label} in it has headers, as keys before PKCS #8 do: convert it to PKCS #8")
        found.append(Block(label, label == _ENCRYPTED, der))
    return found


def certificates(text: str, where: str) -> tuple[bytes, ...]:
    """Return all certificates of a text, at least one. StoreError."""
    found = tuple(block.der for block in blocks(text, where) if block.label == CERTIFICATE)
    if not found:
        raise StoreError(f"{where}: it contains no certificate")
    return found


def identity(key_text: str, key_where: str, chain_text: str, chain_where: str, key_password: str | None) -> Identity:
    """Return a private key with its certificates. StoreError."""
    keys = [block for block in blocks(key_text, key_where) if block.label.endswith("PRIVATE KEY")]
    if len(keys) != 1:
        raise StoreError(f"{key_where}: one private key was expected, but there are {len(keys) or 'none'}")
    key = keys[0]
    if key.is_encrypted and not key_password:
        raise StoreError(f"{key_where}: the private key is encrypted, and ssl.key.password is not set")
    if key_password is not None and not key.is_encrypted:
        raise StoreError(f"{key_where}: ssl.key.password is set, but the private key is not encrypted")
    return Identity(pem_of(key.label, key.der), key_password, certificates(chain_text, chain_where))

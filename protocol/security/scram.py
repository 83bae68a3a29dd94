"""The formulas of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), which the client and the server both compute.

    client  n,,n=alice,r=<client nonce>
    server  r=<client nonce><server nonce>,s=<salt>,i=<iterations>
    client  c=biws,r=<both nonces>,p=<proof>
    server  v=<signature>

Knows no messages: each side reads and writes its own. A server stores a `ScramCredential` instead of a password.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple

ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
"""The limits of a credential in Apache Kafka."""


class ScramMechanism(NamedTuple):
    """One of the two mechanisms."""

    name: str
    hash_name: str
    number: int
    """The number in requests and records of credentials."""


SCRAM_SHA_256 = ScramMechanism("SCRAM-SHA-256", "sha256", 1)
SCRAM_SHA_512 = ScramMechanism("SCRAM-SHA-512", "sha512", 2)
MECHANISMS = (SCRAM_SHA_256, SCRAM_SHA_512)


class ScramCredential(NamedTuple):
    """The stored data of a user's password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def credential_of(mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return the credential from the salted password that a client of AlterUserScramCredentials sends."""
    stored_key = digest(mechanism, client_key(mechanism, salted_password))
    return ScramCredential(salt, stored_key, server_key(mechanism, salted_password), iterations)


def salted(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Return Hi() of RFC 5802. Takes milliseconds for thousands of iterations."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def client_key(mechanism: ScramMechanism, salted_password: bytes) -> bytes:
    """Return the client key, which the proof hides; only a client with the password can compute it."""
    return signature(mechanism, salted_password, b"Client Key")


def server_key(mechanism: ScramMechanism, salted_password: bytes) -> bytes:
    """Return the server key, with which the server signs its last message."""
    return signature(mechanism, salted_password, b"Server Key")


def signature(mechanism: ScramMechanism, key: bytes, data: bytes) -> bytes:
    """Return HMAC() of RFC 5802."""
    return hmac.digest(key, data, mechanism.hash_name)


def digest(mechanism: ScramMechanism, data: bytes) -> bytes:
    """Return H() of RFC 5802."""
    return hashlib.new(mechanism.hash_name, data).digest()


def combined(one: bytes, other: bytes) -> bytes:
    """Return the XOR of two values of the same length: of key and signature, or of proof and signature."""
    return bytes(left ^ right for left, right in zip(one, other, strict=True))


def escaped(name: str) -> str:
    """Return a user's name as it is written in messages."""
    return name.replace("=", "=3D").replace(",", "=2C")


def unescaped(name: str) -> str:
    """Return the name that `escaped` was given."""
    return name.replace("=2C", ",").replace("=3D", "=")

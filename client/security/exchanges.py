"""The client's side of SASL's mechanisms: tokens in, tokens out. No sockets, no requests, no clock.

PLAIN (RFC 4616), SCRAM (RFC 5802, RFC 7677), OAUTHBEARER (RFC 7628). A server is not trusted: its nonce must
continue the client's, its iterations are bounded, and its signature must prove that it knows the password.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable
from typing import Protocol

from barnabas.protocol.security.scram import (
    ITERATIONS_MIN,
    ScramMechanism,
    client_key,
    combined,
    digest,
    escaped,
    salted,
    server_key,
    signature,
)

ITERATIONS_MAX = 200_000
"""About a tenth of a second of hashing. Apache Kafka limits a credential to 16,384."""
TOKEN_BYTES_MAX = 64 << 10
"""The limit of a server's token."""
_SERVER_FIRST = re.compile(
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9/+=]+),i=(?P<iterations>[0-9]{1,9})(?:,.*)?"
)
_SERVER_FINAL = re.compile(r"v=(?P<signature>[A-Za-z0-9/+=]+)(?:,.*)?")


class ServerRefused(Exception):
    """The server refused, or its message cannot be valid. The error message contains no secret."""


class SaslClient(Protocol):
    """One authentication."""

    def begin(self) -> bytes:
        """Return the client's first token."""

    def respond(self, token: bytes) -> bytes | None:
        """Return the next token after the server's; None if the exchange is complete. ServerRefused."""


class PlainSaslClient:
    """A user and a password in one token: it is readable on the network, so it must be used with TLS."""

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode()

    def begin(self) -> bytes:
        return self._token

    def respond(self, token: bytes) -> bytes | None:
        return None


class ScramSaslClient:
    """A SCRAM exchange. `nonce`: unpredictable printable text without a comma. is_token: of a delegation token."""

    def __init__(
        self, mechanism: ScramMechanism, username: str, password: str, nonce: str, *, is_token: bool = False
    ) -> None:
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce
        self._bare = f"n={escaped(username)},r={nonce}" + (",tokenauth=true" if is_token else "")
        self._expected: bytes | None = None

    def begin(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def respond(self, token: bytes) -> bytes | None:
        message = token.decode(errors="replace")
        if message.startswith("e="):
            raise ServerRefused(f"the server says {message[2:]!r}")
        if self._expected is None:
            return self._prove(message)
        found = _SERVER_FINAL.fullmatch(message)
        if found is None or not hmac.compare_digest(_decoded(found["signature"]), self._expected):
            raise ServerRefused("the server's signature is wrong: the server does not know the password")
        return None

    def _prove(self, message: str) -> bytes:
        found = _SERVER_FIRST.fullmatch(message)
        if found is None:
            raise ServerRefused("the server's first message is not a SCRAM message")
        nonce, iterations = found["nonce"], int(found["iterations"])
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise ServerRefused("the server's nonce does not continue the client's")
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise ServerRefused(
                f"the server requires {iterations} iterations, but only {ITERATIONS_MIN} to {ITERATIONS_MAX} are "
                "supported"
            )
        password = salted(self._mechanism, self._password, _decoded(found["salt"]), iterations)
        unproven = f"c=biws,r={nonce}"
        signed = f"{self._bare},{message},{unproven}".encode()
        key = client_key(self._mechanism, password)
        proof = combined(key, signature(self._mechanism, digest(self._mechanism, key), signed))
        self._expected = signature(self._mechanism, server_key(self._mechanism, password), signed)
        return f"{unproven},p={b64encode(proof).decode()}".encode()


class BearerSaslClient:
    """A bearer token that the server trusts, and extensions."""

    def __init__(self, token: str, extensions: Iterable[tuple[str, str]] = ()) -> None:
        parts = [f"auth=Bearer {token}", *(f"{key}={value}" for key, value in extensions)]
        self._token = "n,,\x01{}\x01\x01".format("\x01".join(parts)).encode()
        self._refusal: str | None = None

    def begin(self) -> bytes:
        return self._token

    def respond(self, token: bytes) -> bytes | None:
        """Handle a refusal, which comes as JSON: the client sends one byte, and then the server fails."""
        if not token:
            return None
        if self._refusal is not None:
            raise ServerRefused(self._refusal)
        self._refusal = _status_of(token)
        return b"\x01"


def _status_of(token: bytes) -> str:
    try:
        failure = json.loads(token)
        return f"the token is refused: {failure['status']}"
    except (ValueError, KeyError, TypeError):
        return "the token is refused"


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except NotBase64:
        raise ServerRefused("the server's message is not a SCRAM message") from None

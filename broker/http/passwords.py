"""Verification of passwords, for the users who may log in to a listener with PLAIN or SCRAM.

The clients of a listener prove a password by an exchange, over HTTP it is sent itself. The work is bounded: one SCRAM
derivation at a time, in a thread, and none for a password that was verified before. The time does not reveal whether a
user exists.

Invariants: a verified password is not accepted any more once the user's credential has changed; no password is stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable, Sequence

from barnabas.broker.security.sasl.mechanism import Exchange, SaslAuthenticationFailed
from barnabas.protocol.security.scram import ITERATIONS_MIN, ScramCredential, ScramMechanism, credential_of, salted

KNOWN_MAX = 64
"""Maximum number of verified passwords that are remembered."""
_CREDENTIAL_OF_UNKNOWN_USER = ScramCredential(bytes(16), bytes(64), bytes(64), ITERATIONS_MIN)
Lookup = tuple[ScramMechanism, Callable[[str], ScramCredential | None]]
"""A mechanism, and the lookup of a user's stored credential for it."""


class Passwords:
    """The passwords of one listener's users."""

    def __init__(self, begin_plain: Callable[[], Exchange] | None, scram: Sequence[Lookup], secret: bytes) -> None:
        """Create it. `begin_plain`: begins a PLAIN exchange, if enabled. `secret`: of this run, to hash passwords."""
        self._begin_plain = begin_plain
        self._scram = scram
        self._secret = secret
        self._known: dict[bytes, ScramCredential] = {}
        self._deriving = asyncio.Lock()

    async def is_right(self, user: str, password: str) -> bool:
        """Return whether it is the user's password."""
        if not user or not password or "\0" in user or "\0" in password:
            return False
        if self._begin_plain is not None and _is_plain(self._begin_plain(), user, password):
            return True
        for mechanism, find in self._scram:
            if await self._is_scram(mechanism, find(user), user, password):
                return True
        return False

    async def _is_scram(
        self, mechanism: ScramMechanism, credential: ScramCredential | None, user: str, password: str
    ) -> bool:
        login = f"{mechanism.name}\0{user}\0{password}".encode()
        key = hmac.digest(self._secret, login, hashlib.sha256)
        if credential is not None and self._known.get(key) == credential:
            return True
        async with self._deriving:
            loop, stored = asyncio.get_running_loop(), credential or _CREDENTIAL_OF_UNKNOWN_USER
            derived = await loop.run_in_executor(None, _derived, mechanism, password, stored)
        if credential is None or not hmac.compare_digest(derived.stored_key, credential.stored_key):
            return False
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[key] = credential
        return True


def _is_plain(exchange: Exchange, user: str, password: str) -> bool:
    try:
        exchange.respond(f"\0{user}\0{password}".encode())
    except SaslAuthenticationFailed:
        return False
    return exchange.user == user


def _derived(mechanism: ScramMechanism, password: str, stored: ScramCredential) -> ScramCredential:
    return credential_of(
        mechanism, salted(mechanism, password, stored.salt, stored.iterations), stored.salt, stored.iterations
    )

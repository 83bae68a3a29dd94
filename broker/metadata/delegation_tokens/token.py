"""A delegation token as the catalogue stores it, and the password that its holder presents.

The password of a token is an HMAC of its id, which can be computed only with the secret key. It is not stored anywhere.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Final, NamedTuple

from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.log_records.catalogue import DelegationTokenRecord

_HASH: Final = "sha512"


class DelegationToken(NamedTuple):
    """One token, without any secret. Times are in milliseconds since 1970."""

    token_id: str
    owner: Principal
    """The principal that the token authenticates."""
    requester: Principal
    """The principal that requested it."""
    renewers: tuple[Principal, ...]
    """The principals that may renew and expire it, besides its owner."""
    issued_ms: int
    expires_ms: int
    """The time at which it becomes invalid, unless it is renewed."""
    max_ms: int
    """The time beyond which it cannot be renewed."""

    def is_expired(self, now_ms: int) -> bool:
        """Return whether it has expired and should be removed."""
        return min(self.expires_ms, self.max_ms) < now_ms

    def is_of(self, principal: Principal) -> bool:
        """Return whether the principal is its owner or one of its renewers."""
        return principal == self.owner or principal in self.renewers


class SecretKey:
    """The key from which the passwords of tokens are computed."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def hmac_of(self, token_id: str) -> bytes:
        """Return the HMAC of a token, which the answer to CreateDelegationToken contains."""
        return hmac.digest(self._key, token_id.encode(), _HASH)

    def password_of(self, token_id: str) -> str:
        """Return the HMAC as the password for SCRAM (base64)."""
        return b64encode(self.hmac_of(token_id)).decode()


def record_of(token: DelegationToken) -> DelegationTokenRecord:
    """Return Kafka's record of a token."""
    return DelegationTokenRecord(
        owner=str(token.owner),
        requester=str(token.requester),
        renewers=[str(each) for each in token.renewers],
        issue_timestamp=token.issued_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expires_ms,
        token_id=token.token_id,
    )


def token_of(record: DelegationTokenRecord) -> DelegationToken:
    """Return the token of a record."""
    return DelegationToken(
        token_id=record.token_id,
        owner=Principal.of(record.owner),
        requester=Principal.of(record.requester),
        renewers=tuple(map(Principal.of, record.renewers)),
        issued_ms=record.issue_timestamp,
        expires_ms=record.expiration_timestamp,
        max_ms=record.max_timestamp,
    )

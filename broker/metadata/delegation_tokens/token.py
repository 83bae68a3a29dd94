"""What a delegation token is, as the catalogue keeps it, and what its holder shows in place of a password.

The password of a token is an HMAC of its id, which only who has the secret key can compute. It is nowhere stored.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Final, NamedTuple

from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.log_records.catalogue import DelegationTokenRecord

_HASH: Final = "sha512"


class DelegationToken(NamedTuple):
    """One token. There is no secret in it. Times are since 1970."""

    token_id: str
    owner: Principal
    """Whom it speaks for."""
    requester: Principal
    """Who asked for it."""
    renewers: tuple[Principal, ...]
    """Who may prolong it and take it back, besides its owner."""
    issued_ms: int
    expires_ms: int
    """From when on it is not good, unless it is prolonged."""
    max_ms: int
    """It cannot be prolonged beyond this."""

    def is_expired(self, now_ms: int) -> bool:
        """Whether it is to be removed."""
        return min(self.expires_ms, self.max_ms) < now_ms

    def is_of(self, principal: Principal) -> bool:
        """Whether this is its owner or one of its renewers."""
        return principal == self.owner or principal in self.renewers


class SecretKey:
    """What passwords of tokens are computed with."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def hmac_of(self, token_id: str) -> bytes:
        """What the answer to CreateDelegationToken hands over."""
        return hmac.digest(self._key, token_id.encode(), _HASH)

    def password_of(self, token_id: str) -> str:
        """The same as SCRAM takes it."""
        return b64encode(self.hmac_of(token_id)).decode()


def record_of(token: DelegationToken) -> DelegationTokenRecord:
    """Kafka's record of it."""
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
    """What a record says."""
    return DelegationToken(
        token_id=record.token_id,
        owner=Principal.of(record.owner),
        requester=Principal.of(record.requester),
        renewers=tuple(map(Principal.of, record.renewers)),
        issued_ms=record.issue_timestamp,
        expires_ms=record.expiration_timestamp,
        max_ms=record.max_timestamp,
    )

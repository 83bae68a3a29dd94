"""All delegation tokens, and the only way to change them, stored in Kafka's records.

Read once, at the start, from the records that the catalogue carries. The rules and error codes are those of Apache
Kafka 4.4.0's DelegationTokenControlManager. Who may send a request is decided in
`broker/api/guards/delegation_token_checks.py`.

Invariants: the tokens here are those in the log; a token that was removed is not found any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from barnabas.broker.metadata.catalogue.catalogue import Catalogue
from barnabas.broker.metadata.delegation_tokens.credentials import Credentials
from barnabas.broker.metadata.delegation_tokens.token import DelegationToken, SecretKey, record_of, token_of
from barnabas.broker.metadata.image.framing import Versioned, decode_record, encode_record
from barnabas.broker.metadata.image.image import METADATA_VERSION
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.sasl.scram import TokenLogin
from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import DelegationTokenRecord, RemoveDelegationTokenRecord
from barnabas.protocol.primitives import random_uuid, uuid_text
from barnabas.protocol.security.scram import ScramMechanism

_log = logger("security")

TOKENS_MAX: Final = 10_000
"""The maximum number of tokens; an owner's are limited by the rest. Kafka has no such limits."""
RENEWERS_MAX: Final = 100
RECORD_BYTES_MAX: Final = 8 << 10
"""The maximum size of the record of a token: so much is stored for each."""
REMOVED_AT_ONCE_MAX: Final = 1_000
_TIME_MAX: Final = (1 << 63) - 1
_SINCE: Final = 14
"""The lowest metadata.version that has tokens (3.6-IV2)."""


class Lifetimes(NamedTuple):
    """The configured lifetimes of tokens."""

    max_ms: int
    """The maximum lifetime of a token."""
    renewed_ms: int
    """How long it is valid without being renewed."""


class Tokens:
    """The tokens of one catalogue."""

    def __init__(
        self,
        catalogue: Catalogue,
        key: SecretKey,
        lifetimes: Lifetimes,
        now_ms: Callable[[], int],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._catalogue = catalogue
        self._key = key
        self._lifetimes = lifetimes
        self._now_ms = now_ms
        self._random_bytes = random_bytes
        self._credentials = Credentials(key, random_bytes)
        self._by_id: dict[str, DelegationToken] = {}
        self._by_hmac: dict[bytes, str] = {}
        self._of_owner: Counter[Principal] = Counter()
        for value in catalogue.carried.of_kind("token"):
            record = decode_record(value)
            assert isinstance(record, DelegationTokenRecord)
            self._keep(token_of(record))

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def all(self) -> list[DelegationToken]:
        """All tokens, including those that have expired and are not removed yet."""
        return list(self._by_id.values())

    def hmac_of(self, token: DelegationToken) -> bytes:
        """Return the token's password. Give it only to principals that may know it."""
        return self._key.hmac_of(token.token_id)

    def login(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin | None:
        """Return the data against which a login with this token is verified; None if the token does not exist."""
        token = self._by_id.get(token_id)
        if token is None:
            return None
        return TokenLogin(token.owner.name, token.expires_ms, self._credentials.of(mechanism, token_id))

    # --- changes ---

    def create(
        self, owner: Principal, requester: Principal, renewers: Sequence[Principal], max_lifetime_ms: int
    ) -> DelegationToken:
        """Create a token. max_lifetime_ms: shortens the configured lifetime if it is positive. Raises KafkaError."""
        self._check_level()
        if self._of_owner[owner] >= TOKENS_MAX - len(self._by_id) or len(renewers) > RENEWERS_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        now_ms = self._now_ms()
        max_ms = _later(now_ms, _bounded(max_lifetime_ms, self._lifetimes.max_ms))
        token = DelegationToken(
            token_id=self._new_id(),
            owner=owner,
            requester=requester,
            renewers=tuple(renewers),
            issued_ms=now_ms,
            expires_ms=min(max_ms, _later(now_ms, self._lifetimes.renewed_ms)),
            max_ms=max_ms,
        )
        self._write(token)
        self._report("created", token)
        return token

    def renew(self, principal: Principal, hmac: bytes, period_ms: int) -> int:
        """Renew the token, at most for the configured time; return its new expiry time. Raises KafkaError."""
        token = self._of(principal, hmac, expired_first=True)
        expires_ms = min(token.max_ms, _later(self._now_ms(), _bounded(period_ms, self._lifetimes.renewed_ms)))
        self._write(token._replace(expires_ms=expires_ms))
        self._report("renewed", token)
        return expires_ms

    def expire(self, principal: Principal, hmac: bytes, period_ms: int) -> int:
        """Let the token expire after a period, or remove it if negative; return its expiry time. Raises KafkaError."""
        token = self._of(principal, hmac)
        now_ms = self._now_ms()
        if period_ms < 0:
            self._remove([token])
            self._report("removed", token)
            return now_ms
        if token.is_expired(now_ms):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        expires_ms = min(token.max_ms, _later(now_ms, period_ms))
        self._write(token._replace(expires_ms=expires_ms))
        self._report("expiry changed", token)
        return expires_ms

    def remove_expired(self) -> bool:
        """Remove expired tokens, up to a maximum at once; return whether there may be more. Raises KafkaError."""
        now_ms = self._now_ms()
        expired = [token for token in self._by_id.values() if token.is_expired(now_ms)]
        some = expired[:REMOVED_AT_ONCE_MAX]
        self._remove(some)
        for token in some:
            self._report("expired", token)
        return len(some) < len(expired)

    # --- inside ---

    def _check_level(self) -> None:
        if self._catalogue.feature_level(METADATA_VERSION) < _SINCE:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def _of(self, principal: Principal, hmac: bytes, *, expired_first: bool = False) -> DelegationToken:
        """Return the token with this HMAC, which the principal may change. Raises KafkaError.

        expired_first: also report the expiry to a principal that may not change the token.
        """
        self._check_level()
        token_id = self._by_hmac.get(hmac)
        if token_id is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        token = self._by_id[token_id]
        if expired_first and token.is_expired(self._now_ms()):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        if not token.is_of(principal):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        return token

    def _new_id(self) -> str:
        """Return the text of a new UUID, as in Kafka."""
        while True:
            token_id = uuid_text(random_uuid(self._random_bytes))
            if token_id not in self._by_id:
                return token_id

    def _write(self, token: DelegationToken) -> None:
        versioned = Versioned(record_of(token))
        if len(encode_record(versioned)) > RECORD_BYTES_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        self._catalogue.commit([versioned])
        self._keep(token)

    def _keep(self, token: DelegationToken) -> None:
        if token.token_id not in self._by_id:
            self._of_owner[token.owner] += 1
        self._by_id[token.token_id] = token
        self._by_hmac[self._key.hmac_of(token.token_id)] = token.token_id

    def _remove(self, tokens: Sequence[DelegationToken]) -> None:
        self._catalogue.commit([Versioned(RemoveDelegationTokenRecord(token_id=each.token_id)) for each in tokens])
        for each in tokens:
            del self._by_id[each.token_id]
            del self._by_hmac[self._key.hmac_of(each.token_id)]
            self._credentials.forget(each.token_id)
            self._of_owner[each.owner] -= 1
            if not self._of_owner[each.owner]:
                del self._of_owner[each.owner]

    def _report(self, what: str, token: DelegationToken) -> None:
        _log.info(line(f"delegation token {what}", token=token.token_id, owner=token.owner, all=len(self._by_id)))


def _bounded(requested_ms: int, configured_ms: int) -> int:
    return min(requested_ms, configured_ms) if requested_ms > 0 else configured_ms


def _later(now_ms: int, by_ms: int) -> int:
    return min(now_ms + by_ms, _TIME_MAX)

"""The signer of tokens in tests: its own key, its set of keys, and tokens as an authorization server makes them."""

import json
import time
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, Key

ISSUER, AUDIENCE = "https://issuer.test", "kafka"
_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


class Signer:
    """Signs by ES256 by default."""

    def __init__(self, key_id: str | None = "one", key: Key | None = None) -> None:
        self.key: Key = ECKey.generate_key("P-256", None if key_id is None else {"kid": key_id}) if key is None else key
        self.key_id = key_id

    def token(self, user: str = "alice", header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """Good for a minute, for AUDIENCE. A claim that is None is left out."""
        now_s = int(time.time())
        claimed = {"sub": user, "iat": now_s, "exp": now_s + 60, "iss": ISSUER, "aud": AUDIENCE} | claims
        return self.sign({name: value for name, value in claimed.items() if value is not None}, header)

    def sign(self, claims: object, header: Mapping[str, Any] | None = None) -> str:
        """Whatever the claims are."""
        named = {} if self.key_id is None else {"kid": self.key_id}
        full = {"alg": "ES256", "typ": "JWT", **named, **(header or {})}
        registry = jws.JWSRegistry(algorithms=[full["alg"]], strict_check_header=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # of EdDSA
            return jws.serialize_compact(full, json.dumps(claims), self.key, registry=registry)


def signed_settings(listener: str, url: str) -> dict[str, object]:
    """Of a server whose listener takes tokens that are signed with the keys at `url`, from ISSUER for AUDIENCE."""
    prefix = f"listener.name.{listener.lower()}.oauthbearer.sasl."
    return {
        f"{prefix}server.callback.handler.class": _HANDLER,
        f"{prefix}oauthbearer.jwks.endpoint.url": url,
        f"{prefix}oauthbearer.expected.audience": AUDIENCE,
        f"{prefix}oauthbearer.expected.issuer": ISSUER,
    }


def published(*signers: Signer) -> bytes:
    """Their set of keys, without the private parts."""
    return json.dumps({"keys": [signer.key.as_dict(private=False) for signer in signers]}).encode()


@cache
def signer() -> Signer:
    """One for all tests that need no other."""
    return Signer()

"""The keys that tokens are signed with, as an authorization server publishes them: a JSON Web Key Set (RFC 7517).

The key for a token is selected as jose4j does for Apache Kafka: by the key's id where the token names one, by the
algorithm's type of key, then by the purpose in the key. Imported only where signed tokens are taken.

Invariant: a key that is too short for its algorithm is not in a set.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable
from typing import Any, Final

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, Key, OctKey, OKPKey, RSAKey

from barnabas.broker.security.sasl.jwt_parts import json_object
from barnabas.broker.security.sasl.oauthbearer import InvalidToken

KEYS_MAX: Final = 1000
"""In one set: each token is compared with all of them."""
_RSA_BITS_MIN: Final = 2048
_SECRET_BITS_MIN: Final = 256
_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "ES256K": "secp256k1"}
_TYPES: Final[dict[str, type[Key]]] = {"HS": OctKey, "RS": RSAKey, "PS": RSAKey, "ES": ECKey, "Ed": OKPKey}


class JwkSet:
    """Keys of one authorization server."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = tuple(keys)

    @property
    def ids(self) -> set[str]:
        """The ids of the keys that have one."""
        return {key.kid for key in self._keys if key.kid is not None}

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key for a token that names this id, or none, and this algorithm. None where there is none."""
        found = [key for key in self._keys if _may_verify(key, key_id, algorithm)]
        narrower: tuple[Callable[[Key], bool], ...] = (
            lambda key: key.alg in (None, algorithm),
            lambda key: algorithm not in _CURVES or key.get("crv") == _CURVES[algorithm],
        )
        for fits in narrower:
            if len(found) > 1:
                found = [key for key in found if fits(key)]
        return found[0] if found else None


def _may_verify(key: Key, key_id: str | None, algorithm: str) -> bool:
    operations = key.get("key_ops")
    return (
        (key_id is None or key.kid == key_id)
        and key.get("use") in (None, "sig")
        and (operations is None or "verify" in operations)
        and isinstance(key, _TYPES[algorithm[:2]])
        and (not isinstance(key, OctKey) or len(key.raw_value) * 8 >= int(algorithm[2:]))
    )


def parse_set(content: bytes) -> JwkSet:
    """Parse a set of keys. Raises ValueError with a sentence. A key of an unknown kind is left out, as by jose4j."""
    try:
        listed = json_object(content).get("keys")
    except InvalidToken:
        raise ValueError("it is not a JSON object") from None
    if not isinstance(listed, list):
        raise ValueError("it has no list of keys")
    if len(listed) > KEYS_MAX:
        raise ValueError(f"it has {len(listed)} keys, more than {KEYS_MAX}")
    return JwkSet(key for key in map(_parsed, listed) if key is not None)


def _parsed(listed: object) -> Key | None:
    try:
        return JWKRegistry.import_key(listed) if isinstance(listed, dict) and _is_long_enough(listed) else None
    except (JoseError, ValueError, TypeError, KeyError):
        return None


def _is_long_enough(listed: dict[str, Any]) -> bool:
    """Return whether a key is long enough, before it is imported, since the library warns of short ones."""
    if listed["kty"] == "RSA":
        return int.from_bytes(urlsafe_b64decode(listed["n"] + "==")).bit_length() >= _RSA_BITS_MIN
    return listed["kty"] != "oct" or len(urlsafe_b64decode(listed["k"] + "==")) * 8 >= _SECRET_BITS_MIN

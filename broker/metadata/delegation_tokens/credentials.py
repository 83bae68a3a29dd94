"""SCRAM credentials of tokens: created at the first login with a token, and kept as long as the token exists.

Salting a password takes milliseconds, so it is done once for each token and mechanism, and never for a token that does
not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from barnabas.broker.metadata.delegation_tokens.token import SecretKey
from barnabas.protocol.security.scram import ITERATIONS_MIN, ScramCredential, ScramMechanism, credential_of, salted

_SALT_BYTES: Final = 32


class Credentials:
    """The credentials of one broker's tokens."""

    def __init__(self, key: SecretKey, random_bytes: Callable[[int], bytes]) -> None:
        self._key = key
        self._random_bytes = random_bytes
        self._of_tokens: dict[str, dict[ScramMechanism, ScramCredential]] = {}

    def of(self, mechanism: ScramMechanism, token_id: str) -> ScramCredential:
        """Return the credential of an existing token."""
        of_token = self._of_tokens.setdefault(token_id, {})
        if mechanism not in of_token:
            salt = self._random_bytes(_SALT_BYTES)
            password = salted(mechanism, self._key.password_of(token_id), salt, ITERATIONS_MIN)
            of_token[mechanism] = credential_of(mechanism, password, salt, ITERATIONS_MIN)
        return of_token[mechanism]

    def forget(self, token_id: str) -> None:
        """Remove the credentials of a token that was removed."""
        self._of_tokens.pop(token_id, None)

"""The interface of all mechanisms of SASL: an exchange of tokens that ends with a principal, or not."""

from __future__ import annotations

from typing import Protocol


class SaslAuthenticationFailed(Exception):
    """The client is not the user that it claims, or its message is wrong. str() is for the client, `reason` for the
    log.

    Neither contains a secret.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        """Make the error. `reason`: for the log, where the client's message says less."""
        super().__init__(message)
        self.reason = reason or message


class Exchange(Protocol):
    """One authentication. Nothing of it is used again after SaslAuthenticationFailed."""

    @property
    def user(self) -> str | None:
        """The user; None until authenticated."""

    @property
    def expires_ms(self) -> float | None:
        """When the credentials expire, in milliseconds since 1970; None where they do not."""

    @property
    def is_by_token(self) -> bool:
        """Whether a delegation token was used."""

    def respond(self, token: bytes) -> bytes:
        """Return the answer to the client's next token. Raises SaslAuthenticationFailed."""

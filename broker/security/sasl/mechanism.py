"""What all mechanisms of SASL share: an exchange of tokens that ends with a principal, or not."""

from __future__ import annotations

from typing import Protocol


class AuthenticationFailed(Exception):
    """The client is not who it says, or did not say it rightly. str() is for the client, `reason` for the log.

    Neither tells a secret.
    """

    def __init__(self, told: str, reason: str | None = None) -> None:
        """`reason`: why, where the client is told less."""
        super().__init__(told)
        self.reason = reason or told


class Exchange(Protocol):
    """One authentication. Nothing of it is used again after AuthenticationFailed."""

    @property
    def user(self) -> str | None:
        """Who it is; None until that is proven."""

    @property
    def expires_ms(self) -> float | None:
        """Until when that is so, since 1970; None where what proved it does not expire."""

    @property
    def is_by_token(self) -> bool:
        """Whether that is proven with a delegation token."""

    def respond(self, token: bytes) -> bytes:
        """The answer to the client's next token. AuthenticationFailed."""

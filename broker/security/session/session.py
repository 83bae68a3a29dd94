"""A connection's session: the listener it came in by, whom it speaks for, and whether that is proven yet.

Made when the connection is accepted. Invariant: a session that is complete stays so; only then is its principal who
asks.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import Final

from barnabas.broker.security.session.principal import ANONYMOUS, Principal

_NO_LIMIT: Final = sys.maxsize


class Authentication(Enum):
    """How far a session has come with saying whom it speaks for."""

    REQUIRED = "required"
    COMPLETE = "complete"


class Session:
    """Of one connection."""

    __slots__ = (
        "authentication",
        "client_software",
        "frame_bytes_max",
        "is_by_token",
        "listener",
        "mechanism",
        "principal",
    )

    def __init__(
        self,
        listener: str,
        authentication: Authentication = Authentication.COMPLETE,
        frame_bytes_max: int = _NO_LIMIT,
    ) -> None:
        """`listener`: its name. Who need not authenticate is ANONYMOUS."""
        self.listener = listener
        self.principal = ANONYMOUS
        self.mechanism: str | None = None
        """How it has proven whom it speaks for, in SASL's words."""
        self.is_by_token = False
        """Whether it has proven that with a delegation token: such a session may not ask for tokens."""
        self.authentication = authentication
        self.frame_bytes_max = frame_bytes_max
        """How large a request may be until it is authenticated, if that is less than any request may be."""
        self.client_software = ("unknown", "unknown")
        """Name and version, as the client said in its last ApiVersions."""

    def authenticated(self, principal: Principal, mechanism: str | None = None, *, by_token: bool = False) -> None:
        """It has proven that it speaks for `principal`. by_token: with a delegation token of it."""
        self.principal = principal
        self.is_by_token = by_token
        self.mechanism = mechanism
        self.authentication = Authentication.COMPLETE

    @property
    def is_authenticated(self) -> bool:
        """Whether it may ask for more than how to authenticate."""
        return self.authentication is Authentication.COMPLETE

    @property
    def named_principal(self) -> str | None:
        """Whom it speaks for, as Kafka writes it; None for those who need not say."""
        return None if self.principal is ANONYMOUS else str(self.principal)

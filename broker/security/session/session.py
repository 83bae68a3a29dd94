"""A connection's session: the listener it came in by, its principal, and whether it is authenticated.

Made when the connection is accepted. Invariant: a session that is complete stays so; only then its principal is that of
the client.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from typing import Final

from barnabas.broker.security.session.principal import ANONYMOUS, Principal

_NO_LIMIT: Final = sys.maxsize


class Authentication(Enum):
    """The progress of a session's authentication."""

    REQUIRED = "required"
    COMPLETE = "complete"


class Session:
    """The session of one connection."""

    __slots__ = (
        "authentication",
        "client_software",
        "frame_bytes_max",
        "is_by_token",
        "listener",
        "mechanism",
        "principal",
        "when_closed",
    )

    def __init__(
        self,
        listener: str,
        authentication: Authentication = Authentication.COMPLETE,
        frame_bytes_max: int = _NO_LIMIT,
    ) -> None:
        """Start a session. `listener`: its name. The principal is ANONYMOUS until authenticated."""
        self.listener = listener
        self.principal = ANONYMOUS
        self.mechanism: str | None = None
        """The name of the SASL mechanism of its authentication."""
        self.is_by_token = False
        """Whether it has authenticated with a delegation token: such a session may not request tokens."""
        self.authentication = authentication
        self.frame_bytes_max = frame_bytes_max
        """The maximum size of a request until it is authenticated, if less than that of any request."""
        self.client_software = ("unknown", "unknown")
        """Name and version, from the client's last ApiVersions."""
        self.when_closed: Callable[[], None] | None = None
        """Called once when the connection has closed, for what ends with it."""

    def authenticated(self, principal: Principal, mechanism: str | None = None, *, by_token: bool = False) -> None:
        """Complete the authentication as `principal`. by_token: with a delegation token of it."""
        self.principal = principal
        self.is_by_token = by_token
        self.mechanism = mechanism
        self.authentication = Authentication.COMPLETE

    @property
    def is_authenticated(self) -> bool:
        """Whether it may send other requests than those of authentication."""
        return self.authentication is Authentication.COMPLETE

    @property
    def named_principal(self) -> str | None:
        """The principal, in Kafka's form; None on a listener without authentication."""
        return None if self.principal is ANONYMOUS else str(self.principal)

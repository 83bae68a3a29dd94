"""A connection's session: the listener it came in by, whom it speaks for, and whether that is proven yet.

Made when the connection is accepted. Invariant: a session that is complete stays so; only then is its principal who
asks.
"""

from __future__ import annotations

from enum import Enum

from barnabas.broker.session.principal import ANONYMOUS, Principal


class Authentication(Enum):
    """How far a session has come with saying whom it speaks for."""

    REQUIRED = "required"
    COMPLETE = "complete"


class Session:
    """Of one connection."""

    __slots__ = ("authentication", "client_software", "listener", "principal")

    def __init__(self, listener: str, authentication: Authentication = Authentication.COMPLETE) -> None:
        """`listener`: its name. Who need not authenticate is ANONYMOUS."""
        self.listener = listener
        self.principal = ANONYMOUS
        self.authentication = authentication
        self.client_software = ("unknown", "unknown")
        """Name and version, as the client said in its last ApiVersions."""

    def authenticated(self, principal: Principal) -> None:
        """It has proven that it speaks for `principal`."""
        self.principal = principal
        self.authentication = Authentication.COMPLETE

    @property
    def is_authenticated(self) -> bool:
        """Whether it may ask for more than how to authenticate."""
        return self.authentication is Authentication.COMPLETE

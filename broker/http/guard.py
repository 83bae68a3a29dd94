"""Who may ask for what over HTTP where users are asked for: a user of the broker, or whoever knows the control token.

/live and /ready are open. A user says a password (Basic), or was let in by a client certificate. Where there is an
authorizer, metrics and /listeners need Describe on the cluster; the console, /control and /clean, which show records
and change things, need Alter. Without one every user may do everything, as on the listeners.

Everybody is judged, and refusals alone are held back, as long as those of a listener are: as many as there are
connections, which give way to others meanwhile. No line and no answer has a password, a token, or the name that
somebody only claimed to have.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.http.pages import FORBIDDEN, JSON, PLAIN_TEXT, Page
from barnabas.broker.runtime.log_lines import Seldom, logger
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.broker.security.session.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from barnabas.broker.http.passwords import Passwords
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.security.acl.authorizer import Authorizer

_log = logger("security")
UNAUTHORIZED = 401
_OPEN = ("/live", "/ready")
_FOR_ALTER = ("/console", "/control", "/clean")
_BASIC, _BEARER = 'Basic realm="barnabas", charset="UTF-8"', "Bearer"
Headers = Sequence[tuple[bytes, bytes]]


class Guard:
    """Of one broker's HTTP port."""

    def __init__(
        self,
        passwords: Passwords | None,
        clock: Clock,
        *,
        token: str | None = None,
        authorizer: Authorizer | None = None,
        delay_ms: int = 0,
    ) -> None:
        """`passwords`: None where users have none. `token`: who knows it may do everything. `clock`: the machine's."""
        self._passwords = passwords
        self._clock = clock
        self._token = token
        self._authorizer = authorizer
        self._delay_ms = delay_ms
        self._refused = Seldom(_log.warning)
        self._denied = Seldom(_log.info)

    def refusal_at_once(self, path: str, headers: Headers, principal: Principal) -> Page | None:
        """Of who does not even say who it is: before a body is received."""
        if path in _OPEN or principal is not ANONYMOUS or _authorization(headers):
            return None
        return self._unauthorized(path, "say who you are: a user of the broker with its password")

    async def refusal(self, path: str, headers: Headers, host: str, principal: Principal) -> Page | None:
        """None if the request may be answered. `host`: the peer's. `principal`: whom its certificate speaks for."""
        if path in _OPEN:
            return None
        scheme, _, given = _authorization(headers).partition(" ")
        if scheme.lower() == "bearer" and self._token is not None:
            if hmac.compare_digest(given.strip().encode(), self._token.encode()):
                return None
        elif scheme.lower() == "basic":
            user = await self._user(given.strip())
            if user is not None:
                return self._objection(path, host, Principal(ANONYMOUS.kind, user))
        elif principal is not ANONYMOUS:
            return self._objection(path, host, principal)
        return await self._held_back(path, host)

    async def _user(self, given: str) -> str | None:
        """Who it is, by what stands in the header; None where that is not proven."""
        try:
            user, colon, password = b64decode(given, validate=True).decode().partition(":")
        except (NotBase64, UnicodeDecodeError):
            return None
        if not colon or self._passwords is None or not await self._passwords.is_right(user, password):
            return None
        return user

    async def _held_back(self, path: str, host: str) -> Page:
        self._refused.line("refused", self._clock.now_ms(), "http authentication failed", peer=host)
        held = asyncio.Event()
        timer = self._clock.call_later(self._delay_ms, held.set)
        try:
            await held.wait()
        finally:
            timer.cancel()
        return self._unauthorized(path, "no such user, or another password or token")

    def _objection(self, path: str, host: str, principal: Principal) -> Page | None:
        """Why the principal may not have it, or None."""
        if self._authorizer is None:
            return None
        operation = Operation.ALTER if path.startswith(_FOR_ALTER) else Operation.DESCRIBE
        rule = self._authorizer.rule(principal, host, operation, Resource.CLUSTER, CLUSTER_NAME)
        audit = self._authorizer.audit
        if rule.is_allowed:
            audit.allowed_count += 1
            return None
        audit.denied_count += 1
        facts = {"principal": principal, "operation": operation.name, "resource": f"Cluster:{CLUSTER_NAME}"}
        self._denied.line(principal, self._clock.now_ms(), "http request denied", **facts, peer=host)
        needed = operation.name.title()
        return _page(FORBIDDEN, path, f"{principal} may not have this: it needs {needed} on the cluster")

    def _unauthorized(self, path: str, why: str) -> Page:
        ways = [*([] if self._passwords is None else [_BASIC]), *([] if self._token is None else [_BEARER])]
        return _page(UNAUTHORIZED, path, why)._replace(headers=tuple(("www-authenticate", way) for way in ways))


def _page(status: int, path: str, why: str) -> Page:
    if path.startswith("/control"):
        return Page(status, json.dumps({"error": why}).encode(), JSON)
    return Page(status, f"{why}\n".encode(), PLAIN_TEXT)


def _authorization(headers: Headers) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == b"authorization"), "")

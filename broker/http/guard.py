"""Authorization over HTTP when users are required: a user of the broker, or a client with the control token.

/live and /ready are open. A user sends a password (Basic), or was authenticated by a client certificate. If there is
an authorizer, metrics and /listeners need Describe on the cluster; the console, /control and /clean, which show
records and change things, need Alter. Without one every user may do everything, as on the listeners.

Every request is checked, and only refusals are delayed, as long as those of a listener are: their number is limited by
that of the connections, which give way to others meanwhile. No log line and no answer contains a password, a token, or
a user name that was not authenticated.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

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
_FOR_ALTER = ("/console", "/control", "/clean")
_BASIC, _BEARER = 'Basic realm="barnabas", charset="UTF-8"', "Bearer"
Headers = Sequence[tuple[bytes, bytes]]


class RequiredRight(NamedTuple):
    """The right that a request needs: an operation on a resource."""

    operation: Operation
    resource: Resource
    name: str


class Guard:
    """The guard of one broker's HTTP port."""

    open_paths: tuple[str, ...] = ("/live", "/ready")

    def __init__(
        self,
        passwords: Passwords | None,
        clock: Clock,
        *,
        token: str | None = None,
        authorizer: Authorizer | None = None,
        delay_ms: int = 0,
    ) -> None:
        """Create the guard. `passwords`: None without users. `token`: allows everything. `clock`: the machine's."""
        self._passwords = passwords
        self._clock = clock
        self._token = token
        self._authorizer = authorizer
        self._delay_ms = delay_ms
        self._refused = Seldom(_log.warning)
        self._denied = Seldom(_log.info)

    def refusal_at_once(self, path: str, headers: Headers, principal: Principal) -> Page | None:
        """Return the refusal of a request without credentials, before a body is received; else None."""
        if path in self.open_paths or principal is not ANONYMOUS or _authorization(headers):
            return None
        return self._unauthorized(
            path, "authentication is required: send the name and password of a user of the broker"
        )

    async def refusal(
        self, path: str, headers: Headers, host: str, principal: Principal, method: str = "GET"
    ) -> Page | None:
        """Return None if the request may be answered. `host`: the peer's. `principal`: of its certificate."""
        if path in self.open_paths:
            return None
        scheme, _, given = _authorization(headers).partition(" ")
        if scheme.lower() == "bearer" and self._token is not None:
            if hmac.compare_digest(given.strip().encode(), self._token.encode()):
                return None
        elif scheme.lower() == "basic":
            user = await self._user(given.strip())
            if user is not None:
                return self._objection(method, path, host, Principal(ANONYMOUS.kind, user))
        elif principal is not ANONYMOUS:
            return self._objection(method, path, host, principal)
        return await self._held_back(path, host)

    async def _user(self, given: str) -> str | None:
        """Return the user of the header; None if it is not authenticated."""
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
        return self._unauthorized(path, "unknown user, or wrong password or token")

    def needed(self, method: str, path: str) -> RequiredRight:
        """Return the right that a request needs."""
        operation = Operation.ALTER if path.startswith(_FOR_ALTER) else Operation.DESCRIBE
        return RequiredRight(operation, Resource.CLUSTER, CLUSTER_NAME)

    def page(self, status: int, path: str, why: str) -> Page:
        """Return a refusal."""
        if path.startswith("/control"):
            return Page(status, json.dumps({"error": why}).encode(), JSON)
        return Page(status, f"{why}\n".encode(), PLAIN_TEXT)

    def _objection(self, method: str, path: str, host: str, principal: Principal) -> Page | None:
        """Return the refusal if the principal has no right to the path, or None."""
        if self._authorizer is None:
            return None
        operation, resource, name = self.needed(method, path)
        rule = self._authorizer.rule(principal, host, operation, resource, name)
        audit = self._authorizer.audit
        if rule.is_allowed:
            audit.allowed_count += 1
            return None
        audit.denied_count += 1
        is_cluster = resource is Resource.CLUSTER
        facts = {"principal": principal, "operation": operation.name, "resource": f"{resource.name.title()}:{name}"}
        self._denied.line(principal, self._clock.now_ms(), "http request denied", **facts, peer=host)
        needed = f"{operation.name.title()} on {'the cluster' if is_cluster else f'the topic {name}'}"
        return self.page(FORBIDDEN, path, f"{principal} is not allowed to do this: it needs {needed}")

    def _unauthorized(self, path: str, why: str) -> Page:
        ways = [*([] if self._passwords is None else [_BASIC]), *([] if self._token is None else [_BEARER])]
        return self.page(UNAUTHORIZED, path, why)._replace(headers=tuple(("www-authenticate", way) for way in ways))


def _authorization(headers: Headers) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == b"authorization"), "")

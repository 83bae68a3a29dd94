"""How a client of the simulation proves who it is: our own client's exchanges, over a connection that does not block.

The nonce comes from the world. Passwords are hashed once for each salt: hashing takes time, and shows nothing.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from barnabas.client.security import exchanges
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.security.scram import SCRAM_SHA_256, salted
from tests.simulation.secured.history import LoginTry, SecurityHistory
from tests.simulation.world.world import World

PLAIN, SCRAM = "PLAIN", SCRAM_SHA_256.name
_RENEWED: Final = 0.85
"""Of a session's life: when a client logs in again, as stock clients do."""

hashed = lru_cache(maxsize=1024)(salted)
exchanges.salted = hashed  # type: ignore[attr-defined]  # because it is only imported there

Ask = Callable[[Request, int], Awaitable[Any]]


class LoginRefused(Exception):
    """The broker says that it is not who it says, or nothing that could be gone on with."""


@dataclass(slots=True)
class Login:
    """Of one client; `password` is asked at each login. Every try goes into the history."""

    world: World
    history: SecurityHistory
    client: str
    user: str
    password: Callable[[], str]
    mechanism: str = PLAIN
    is_forgetful: Callable[[], bool] = lambda: False
    """Whether it lets a session end without logging in again in time."""
    dice: random.Random = field(default_factory=random.Random)
    last: LoginTry | None = None
    """The one by which its connection speaks now."""
    _renews_us: int | None = None

    @property
    def is_due(self) -> bool:
        """Whether it has to log in again now, for its session to live on."""
        if self._renews_us is None or self.world.now_us < self._renews_us:
            return False
        if self.is_forgetful():
            self._renews_us = None
            return False
        return True

    async def log_in(self, ask: Ask, *, again: bool) -> None:
        """Over a connection, through `ask`. LoginRefused; whatever `ask` raises."""
        password = self.password()
        tried = LoginTry(self.client, self.user, self.mechanism, password, self.world.now_us, again)
        self.history.logins.append(tried)
        exchange: exchanges.SaslClient = (
            exchanges.PlainSaslClient(self.user, password)
            if self.mechanism == PLAIN
            else exchanges.ScramSaslClient(SCRAM_SHA_256, self.user, password, f"{self.dice.getrandbits(128):032x}")
        )
        answer = await ask(SaslHandshakeRequest(mechanism=self.mechanism), 1)
        if answer.error_code != ErrorCode.NONE:
            raise LoginRefused(ErrorCode(answer.error_code).name)
        token: bytes | None = exchange.begin()
        while token is not None:
            answer = await ask(SaslAuthenticateRequest(auth_bytes=token), 2)
            if answer.error_code != ErrorCode.NONE:
                tried.refused(self.world.now_us, ErrorCode(answer.error_code).name)
                raise LoginRefused(answer.error_message)
            try:
                token = exchange.respond(answer.auth_bytes)
            except exchanges.ServerRefused as refusal:
                tried.succeeded(
                    self.world.now_us, answer.session_lifetime_ms
                )  # the broker has let it in, whoever it is
                raise LoginRefused(str(refusal)) from None
        tried.succeeded(self.world.now_us, answer.session_lifetime_ms)
        self.last = tried
        lifetime_us = answer.session_lifetime_ms * 1000
        self._renews_us = tried.began_us + int(lifetime_us * _RENEWED) if lifetime_us else None

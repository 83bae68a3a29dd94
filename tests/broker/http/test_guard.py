"""Who may ask for what over HTTP: open pages, users, the token, and refusals that are held back and counted."""

import asyncio
import logging
from base64 import b64encode

import pytest

from barnabas.broker.http.guard import Guard, Headers
from barnabas.broker.http.pages import JSON, Page
from barnabas.broker.http.passwords import Passwords
from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.acl.audit import AclAudit
from barnabas.broker.security.acl.authorizer import Authorizer
from barnabas.broker.security.acl.index import AclIndex
from barnabas.broker.security.sasl.plain import PlainExchange
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.broker.security.session.principal import ANONYMOUS, Principal
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import settle

USERS = {"admin": "a1", "watcher": "w1", "client": "c1"}
DELAY_MS = 100
HERE = "127.0.0.1"


def basic(user: str, password: str) -> Headers:
    return [(b"authorization", b"Basic " + b64encode(f"{user}:{password}".encode()))]


def bearer(token: str) -> Headers:
    return [(b"authorization", f"bearer {token}".encode())]


class Gate:
    """A guard, with an authorizer or without, on a clock of the test's."""

    def __init__(self, *, authorizes: bool = True, token: str | None = None) -> None:
        self.clock = VirtualClock()
        may_look = Acl(
            Resource.CLUSTER,
            CLUSTER_NAME,
            PatternType.LITERAL,
            "User:watcher",
            "*",
            Operation.DESCRIBE,
            Permission.ALLOW,
        )
        authorizer = Authorizer(AclIndex([may_look]), ["User:admin"], AclAudit()) if authorizes else None
        passwords = Passwords(lambda: PlainExchange(USERS.get), [], b"secret")
        self.guard = Guard(passwords, self.clock, token=token, authorizer=authorizer, delay_ms=DELAY_MS)

    def asks(
        self, path: str, headers: Headers = (), host: str = HERE, principal: Principal = ANONYMOUS
    ) -> asyncio.Task[Page | None]:
        return asyncio.ensure_future(self.guard.refusal(path, headers, host, principal))

    async def status(self, path: str, headers: Headers = (), principal: Principal = ANONYMOUS, host: str = HERE) -> int:
        """200 where the page is given."""
        asked = self.asks(path, headers, host, principal)
        await settle()
        self.clock.advance(DELAY_MS)
        refused = await asked
        return 200 if refused is None else refused.status


@pytest.mark.parametrize("path", ["/live", "/ready"])
async def test_a_liveness_check_needs_no_authentication(path: str) -> None:
    gate = Gate()
    assert gate.guard.refusal_at_once(path, [], ANONYMOUS) is None
    assert await gate.status(path) == 200
    assert await gate.status(path, basic("admin", "wrong")) == 200


@pytest.mark.parametrize("path", ["/metrics", "/", "/console", "/control/clock", "/clean", "/livee", "/ready/x"])
def test_an_undetermined_pause_is_resolved_at_once(path: str) -> None:
    refused = Gate(token="secret").guard.refusal_at_once(path, [(b"host", b"x")], ANONYMOUS)
    assert refused is not None
    assert refused.status == 401
    assert refused.headers == (
        ("www-authenticate", 'Basic realm="barnabas", charset="UTF-8"'),
        ("www-authenticate", "Bearer"),
    )


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/metrics", (200, 200, 403)),
        ("/", (200, 200, 403)),
        ("/console/messages", (200, 403, 403)),
        ("/control/clock", (200, 403, 403)),
        ("/clean", (200, 403, 403)),
    ],
)
async def test_metrics_need_describe_and_what_shows_records_or_changes_things_alter(
    path: str, statuses: tuple[int, ...]
) -> None:
    gate = Gate()
    assert tuple([await gate.status(path, basic(user, USERS[user])) for user in USERS]) == statuses
    by_certificate = [await gate.status(path, principal=Principal("User", user)) for user in USERS]
    assert tuple(by_certificate) == statuses


async def test_without_an_authorizer_every_user_may() -> None:
    assert await Gate(authorizes=False).status("/control/clock", basic("client", "c1")) == 200


async def test_the_token_grants_full_access() -> None:
    assert await Gate(token="secret").status("/control/clock", bearer("secret")) == 200
    assert await Gate(token="secret").status("/control/clock", bearer("Secret")) == 401
    assert await Gate().status("/control/clock", bearer("None")) == 401
    assert await Gate().status("/control/clock", bearer("")) == 401


@pytest.mark.parametrize(
    "given", [b"Basic", b"Basic !", b"Basic YWRtaW4=", b"Basic //79", b"Digest YWRtaW46YTE=", b"YWRtaW46YTE=", b"\xff"]
)
async def test_invalid_input_is_refused(given: bytes) -> None:
    assert await Gate().status("/metrics", [(b"authorization", given)]) == 401


async def test_a_refusal_is_held_back(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    asked = gate.asks("/control/clock", basic("typed-here", "hunter2"))
    await settle()
    gate.clock.advance(DELAY_MS - 1)
    await settle()
    assert not asked.done()
    with caplog.at_level(logging.INFO):
        gate.clock.advance(1)
        refused = await asked
    assert refused is not None
    assert refused.content_type == JSON
    for secret in ("hunter2", "typed-here"):
        assert secret not in caplog.text
        assert secret.encode() not in refused.body


async def test_a_valid_login_is_accepted_beside_many_delayed_ones() -> None:
    gate = Gate(token="secret")
    held = [gate.asks("/metrics", basic("admin", "guess")) for _ in range(100)]
    await settle()
    assert not any(each.done() for each in held)
    for right in (basic("admin", "a1"), bearer("secret")):
        assert await gate.asks("/metrics", right) is None
    assert await gate.asks("/metrics", principal=Principal("User", "admin")) is None
    held.pop().cancel()
    gate.clock.advance(DELAY_MS)
    assert {refused.status for refused in await asyncio.gather(*held) if refused} == {401}
    assert gate.clock.pending_timers() == 0

"""The programs of who sets rights, of who has some, of who has none, and of who asks too much."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final

from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.secured.history import AclKey, Asked, QuotaKey, SecurityHistory, Used, UserKey
from tests.simulation.secured.login import PLAIN, SCRAM
from tests.simulation.secured.operator import IS_THERE, SecurityOperator
from tests.simulation.secured.plan import BUSY, BYTE_RATE, HEAVY, REQUEST_PERCENTAGE, TICK_S
from tests.simulation.secured.requests import KINDS, produce
from tests.simulation.world.world import World
from tests.support.requests import metadata

TOPICS: Final = ("guarded-0", "guarded-1")
_GROUPS: Final = ("guarded-group",)
_IDS: Final = ("guarded-id",)
_NAMES: Final = {Resource.TOPIC: TOPICS, Resource.GROUP: _GROUPS, Resource.TRANSACTIONAL_ID: _IDS}
_LITERAL, _PREFIXED, _DENY, _ALLOW = 3, 4, 2, 3
_OPERATIONS: Final = (Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL)
_HOSTS: Final = ("*", "*", "10.0.0.1", "10.9.9.9")
_HEAVY_BYTES: Final = 1_000
BY_QUOTA: Final = {
    HEAVY: (QuotaKey(HEAVY, "producer_byte_rate"), float(BYTE_RATE)),
    BUSY: (QuotaKey(BUSY, "request_percentage"), float(REQUEST_PERCENTAGE)),
}


def password(user: str, number: int) -> str:
    """One that a user may have."""
    return f"{user}-password-{number}"


async def operating(
    operator: SecurityOperator, users: list[str], dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """Everybody has a password first; then they come and go, and so do rights and quotas."""
    for user in users:
        await operator.set(UserKey(user), password(user, 0))
    there: list[AclKey] = []
    while not is_over():
        kind = dice.choice(["acl"] * 5 + ["user", "user", "quota"])
        user = dice.choice(users)
        if kind == "user":
            await operator.set(UserKey(user), dice.choice([password(user, 0), password(user, 1), None]))
        elif kind == "quota":
            await operator.set(QuotaKey(user, "producer_byte_rate"), dice.choice([1e6, 2e6, None]))
        elif there and dice.random() < 0.4:
            acl = there.pop(dice.randrange(len(there)))
            await operator.set(acl, None)
        else:
            acl = _acl(user, dice)
            there.append(acl)
            await operator.set(acl, IS_THERE)
        await asyncio.sleep(dice.choice([0.01, 0.1, 0.4]))


def _acl(user: str, dice: random.Random) -> AclKey:
    resource = dice.choice([Resource.TOPIC, Resource.TOPIC, Resource.GROUP, Resource.TRANSACTIONAL_ID])
    name, pattern = dice.choice([(name, _LITERAL) for name in (*_NAMES[resource], "*")] + [("guard", _PREFIXED)])
    return AclKey(
        resource=int(resource),
        name=name,
        pattern=pattern,
        principal=f"User:{dice.choice([user, '*'])}",
        host=dice.choice(_HOSTS),
        operation=int(dice.choice(_OPERATIONS)),
        permission=_ALLOW if dice.random() < 0.75 else _DENY,
    )


async def asking(
    world: World, wire: Wire, history: SecurityHistory, client: str, dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """One request after the other, each for one resource; over a new connection now and then."""
    login, number = wire.login, 0
    assert login is not None
    while not is_over():
        kind = dice.choice(KINDS)
        name, number = dice.choice(_NAMES[kind.resource]), number + 1
        value = f"{client}.{number}".encode() if kind.is_write else b""
        asked = Asked(client, login.user, None, kind.api, kind.operation, kind.resource, name, world.now_us, value)
        history.asked.append(asked)
        try:
            await wire.connect()
            asked.login, asked.began_us = login.last, world.now_us
            await _ask(world, wire, asked, kind.request(name, value), kind.version, kind.code_of)
        except Disconnected:
            await asyncio.sleep(dice.choice([0.05, 0.3]))
        if dice.random() < 0.1:
            wire.close()
        await asyncio.sleep(dice.choice([0.0, 0.02, 0.2]))


async def _ask(
    world: World, wire: Wire, asked: Asked, request: Request, version: int, code_of: Callable[[Any], int]
) -> None:
    answer = await wire.ask(request, version)
    assert wire.login is not None
    asked.login = wire.login.last
    asked.answered(world.now_us, is_allowed=not E(code_of(answer)).name.endswith("AUTHORIZATION_FAILED"))


async def intruding(
    world: World, wire: Wire, history: SecurityHistory, client: str, dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """Who writes without having proven who it is, at any step of doing so; `wire` does not log in."""
    number = 0
    while not is_over():
        number += 1
        value, name = f"{client}.{number}".encode(), dice.choice(TOPICS)
        asked = Asked(client, "nobody", None, "Produce", Operation.WRITE, Resource.TOPIC, name, world.now_us, value)
        history.asked.append(asked)
        try:
            await _half_log_in(wire, dice)
            answer = await wire.ask(produce(name, value), 8)
            code = answer.responses[0].partition_responses[0].error_code
            asked.answered(world.now_us, is_allowed=code == E.NONE)
        except Disconnected:
            pass  # the history has no answer then
        wire.close()
        await asyncio.sleep(dice.choice([0.1, 0.5]))


async def _half_log_in(wire: Wire, dice: random.Random) -> None:
    steps = dice.randint(0, 2)
    if steps:
        mechanism = dice.choice([PLAIN, SCRAM])
        await wire.ask(SaslHandshakeRequest(mechanism=mechanism), 1)
        if steps > 1:
            token = b"\0cast\0guessed" if mechanism == PLAIN else b"n,,n=u0,r=0123456789"
            await wire.ask(SaslAuthenticateRequest(auth_bytes=token), 2, wait_ms=2_500)


async def using(
    world: World, wire: Wire, history: SecurityHistory, operator: SecurityOperator, is_over: Callable[[], bool]
) -> None:
    """One request behind the other, as fast as the broker lets it."""
    login, number = wire.login, 0
    assert login is not None
    await operator.set(*BY_QUOTA[login.user])
    throttle_ms = 0
    while not is_over():
        number += 1
        began_us = world.now_us
        request, version, amount = heavy_request(number) if login.user == HEAVY else _busy_request()
        try:
            answer = await wire.ask(request, version, wait_ms=throttle_ms)
        except Disconnected:
            throttle_ms = 0
            await asyncio.sleep(0.1)
            continue
        throttle_ms = answer.throttle_time_ms
        history.used.append(Used(login.client, wire.connections, amount, began_us, world.now_us, throttle_ms))


def heavy_request(number: int) -> tuple[Request, int, float]:
    """A request to write, its version, and how many bytes it has at least."""
    return produce(TOPICS[0], f"{HEAVY}.{number}.".encode().ljust(_HEAVY_BYTES, b".")), 8, _HEAVY_BYTES


def _busy_request() -> tuple[Request, int, float]:
    return metadata(TOPICS[0]), 12, TICK_S

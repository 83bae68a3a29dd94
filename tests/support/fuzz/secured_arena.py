"""An arena whose broken frames arrive at a listener that authenticates.

Each connection is first brought into a stage of SASL (`sasl.py`). What is watched besides:
an unauthenticated connection reaches no API, no user becomes another one, and no secret gets into a log
line, an event or an answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from barnabas.broker.api.authentication.sasl_listener import SaslListener
from barnabas.broker.api.deferred_response import Answer
from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.network.connection import Connection
from barnabas.broker.security.sasl.mechanism import Exchange
from barnabas.broker.security.sasl.oauthbearer import OAuthBearerExchange
from barnabas.broker.security.sasl.plain import PlainExchange
from barnabas.broker.security.sasl.scram import ScramExchange
from barnabas.broker.security.sasl.unsecured_tokens import judge, rules_in
from barnabas.protocol.connection.framing import split_frames
from barnabas.protocol.registry import ApiKey
from barnabas.protocol.security.scram import SCRAM_SHA_256
from tests.support.fuzz.arena import Arena
from tests.support.fuzz.judge import Finding
from tests.support.fuzz.judge import judge as judge_answers
from tests.support.fuzz.mutations import Sent
from tests.support.fuzz.sasl import CREDENTIAL, FRAME_BYTES_MAX, PIECES_OF_SECRETS, USER, USERS, Opening
from tests.support.worlds.broker import BrokerWorld, Peer
from tests.support.worlds.memory_transport import MemoryTransport
from tests.support.worlds.secured_broker import LISTENER, sasl_listener_of

REAUTH_MS = 3_600_000
MEMORY_BYTES_MAX = 8 << 20
MEMORY_PER_BYTE_MAX = 100
"""Matching a token of OAUTHBEARER that is full of pairs takes most of it."""


def sasl_listener(world: BrokerWorld, reauth_ms: int) -> SaslListener:
    """The required proof: a password, or an unsigned token."""
    mechanisms: dict[str, Callable[[], Exchange]] = {
        "PLAIN": lambda: PlainExchange(USERS.get),
        "SCRAM-SHA-256": lambda: ScramExchange(SCRAM_SHA_256, {USER: CREDENTIAL}.get, world.environment.random),
        "OAUTHBEARER": lambda: OAuthBearerExchange(partial(judge, rules_in({}), world.clock.now_ms)),
    }
    return sasl_listener_of(world, mechanisms, frame_bytes_max=FRAME_BYTES_MAX, reauth_ms=reauth_ms)


class SecuredArena(Arena):
    """Before each `play`, `open` the connection that it uses."""

    opening: Opening
    _opened: Peer
    memory_bytes_max, memory_per_byte_max = MEMORY_BYTES_MAX, MEMORY_PER_BYTE_MAX

    def __init__(self, rng: Random, trace_every: int, *, reauth_ms: int) -> None:
        super().__init__(rng, trace_every)
        self.reauth_ms = reauth_ms
        self._overheard = _Overheard()

    async def __aenter__(self) -> SecuredArena:
        await super().__aenter__()
        world = self.world
        self._secured = Dispatcher(world.services, sasl_listeners={LISTENER: sasl_listener(world, self.reauth_ms)})
        self._secured.intercept(self._watched)
        self._log.addHandler(self._overheard)
        self._level = self._log.level
        self._log.setLevel(logging.DEBUG)
        world.broker.events.listen(self._overheard.event, all_requests=True)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._log.removeHandler(self._overheard)
        self._log.setLevel(self._level)
        await super().__aexit__(kind, *rest)

    def _watched(self, key: int, version: int, entry: Callable[..., Answer]) -> Callable[..., Answer]:
        def serve(frame: memoryview, position: int, correlation_id: int, client: Any) -> Answer:
            if not client.session.is_authenticated and key != ApiKey.API_VERSIONS:
                self._complaints.add(f"{ApiKey(key).name} is reached without authentication")
            return entry(frame, position, correlation_id, client)

        return serve

    def open(self, opening: Opening) -> Peer:
        """A connection in the stage that this leads to."""
        self.opening = opening
        session = self._secured.session(LISTENER)
        peer = Peer(MemoryTransport(Connection(self.world.listener, self._secured, session=session), 1 << 30))
        opening.play(peer)
        self._opened = peer
        return peer

    def connect(self) -> Peer:
        return self._opened

    def _judge(self, peer: Peer, sent: Sent) -> None:
        answers, is_waiting = peer.frames(), peer.connection.is_busy
        if self.opening.tokens_are_bare:
            _judge_bare(sent.data, answers, is_over=peer.is_closed or is_waiting)
        else:
            judge_answers(sent.data, answers, is_closed=peer.is_closed, is_waiting=is_waiting)
        session = peer.connection.session
        if session.is_authenticated and not self.opening.may_become(session.principal.name):
            raise Finding(f"{self.opening.name}: the connection speaks for {session.principal}")
        self._overheard.check()
        if any(piece in answer for answer in answers for piece in PIECES_OF_SECRETS):
            raise Finding("a secret is in an answer")


def _judge_bare(sent: bytes, answers: list[bytes], *, is_over: bool) -> None:
    """Where tokens have no header: as many answers as frames, unless that has an end."""
    split = split_frames(sent, 0, len(sent))
    if not is_over and (len(answers) != len(split.frames) or split.refused is not None):
        raise Finding(f"{len(split.frames)} bare frames have {len(answers)} answers, and the connection is open")


class _Overheard(logging.Handler):
    """The texts of log lines and events."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._findings: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if not text.isprintable():
            self._findings.append(f"a line of the log is not one printable line: {text!r}")
        self._hear(text)

    def event(self, kind: object, facts: dict[str, object]) -> None:
        """A listener of events."""
        self._hear(f"{kind} {facts}")

    def _hear(self, text: str) -> None:
        if any(piece.decode() in text for piece in PIECES_OF_SECRETS):
            self._findings.append(f"a secret is logged: {text}")

    def check(self) -> None:
        """Finding if a secret was among it."""
        if self._findings:
            text, self._findings = self._findings, []
            raise Finding("\n".join(text))

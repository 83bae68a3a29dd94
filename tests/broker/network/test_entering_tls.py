"""Who may come in by TLS, and when: said before anything is done for a peer."""

import logging

import pytest

from barnabas.broker.network.tls.handshakes import HANDSHAKE_MS
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.support.certificates import authority
from tests.support.tls_listener import Secured
from tests.support.tls_peer import StuckHandshake, TlsPeer, client_context
from tests.support.worlds.broker import BrokerWorld, request_frame, settle
from tests.support.worlds.memory_transport import MemoryTransport

_ASKED = request_frame(MetadataRequest(topics=None), 1)
_NO_ROOM = "more than max.connections=3"
_GIVES_WAY = f'"{_NO_ROOM}, and this is the oldest unfinished handshake"'


def peer_on(transport: MemoryTransport) -> TlsPeer:
    return TlsPeer(transport, client_context(authority().pem))


def is_served(peer: TlsPeer) -> bool:
    peer.send(_ASKED)
    return bool(peer.read())


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    return [line.partition("reason=")[2] for line in lines]


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ({"max.connections.per.ip": "5"}, True),
        ({"listener.name.ssl.max.connections": "5"}, False),
        ({"listener.name.ssl.max.connection.creation.rate": "1", "quota.window.num": "2"}, False),
    ],
    ids=["address", "listener", "rate"],
)
async def test_a_limit_holds_for_those_that_have_yet_to_shake_hands(
    settings: dict[str, str], is_refused: bool, caplog: pytest.LogCaptureFixture
) -> None:
    secured = Secured(BrokerWorld(settings))
    sockets = [secured.accept() for _ in range(20)]
    for transport in sockets:
        if not transport.is_lost:
            transport.send(peer_on(transport).hello())
    greeted = [bool(transport.read()) for transport in sockets].count(True)
    assert 0 < greeted == len(secured.handshakes) <= 5
    assert [transport.is_lost for transport in sockets].count(True) == (15 if is_refused else 0)
    assert reasons(caplog) == ['"127.0.0.1 has 5 connections, as many as max.connections.per.ip allows"'] * (
        15 if is_refused else 0
    )
    secured.world.clock.advance(HANDSHAKE_MS)
    await settle()  # those have been given up, and others have taken their places
    assert any(transport.read() for transport in sockets) is not is_refused
    assert not is_refused or is_served(secured.connect())
    secured.world.listener.abort()
    assert list(secured.world.listener.sockets) == []


async def test_a_peer_that_had_to_wait_shakes_hands_with_what_it_sent_meanwhile() -> None:
    secured = Secured(BrokerWorld({"listener.name.ssl.max.connections": "1"}))
    first, silent, gone, waiting = secured.connect(), secured.accept(), secured.accept(), peer_on(secured.accept())
    gone.send(peer_on(gone).hello())
    with pytest.raises(StuckHandshake):
        waiting.shake_hands()
    assert is_served(first)
    for transport in (silent, gone, first.transport):
        transport.hang_up()
    await settle()
    waiting.shake_hands()
    assert is_served(waiting)


async def test_a_peer_that_waits_to_come_in_is_closed_once_it_is_idle() -> None:
    world = BrokerWorld({"listener.name.ssl.max.connections": "1", "connections.max.idle.ms": "1000"})
    await world.broker.start()
    secured = Secured(world)
    first, waiting = secured.connect(), secured.accept()
    for _ in range(10):
        world.clock.advance(300)
        assert is_served(first)
    assert waiting.is_lost
    await world.close()


async def test_those_that_do_not_shake_hands_make_room_where_there_is_none(caplog: pytest.LogCaptureFixture) -> None:
    secured = Secured(BrokerWorld({"max.connections": "3"}))
    first, half_open = secured.connect(), [secured.accept(), secured.accept()]
    peers = [first, secured.connect(), secured.connect()]
    assert all(transport.is_lost for transport in half_open)
    assert secured.accept().is_lost
    assert all(map(is_served, peers))
    assert reasons(caplog) == [_GIVES_WAY, _GIVES_WAY, f'"{_NO_ROOM}"']

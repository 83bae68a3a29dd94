"""Peers that shook hands, and then send records that TLS does not know, half of one, or broken requests in good ones.

Handshakes that are broken are in `tests/broker/network/tls/test_tls_stream.py`. Here a peer has been let in; its
listener asks for SASL besides in half of the worlds. Whatever it sends, nothing is logged as an error, nothing of it is
kept once it is gone, and the next client is served.
"""

import logging
from collections.abc import Callable
from random import Random

import pytest

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.network.connection import Connection
from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.connection.framing import FrameBuffer
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from tests.support.fuzz.sasl import OPENINGS, attempt
from tests.support.fuzz.secured_arena import sasl_listener
from tests.support.fuzz.stage import Facts, Member, Producer, Pusher
from tests.support.tls_listener import Secured
from tests.support.worlds.broker import BrokerWorld, request_frame, settle
from tests.support.worlds.secured_broker import LISTENER

WORLDS, WORLDS_LONG = 8, 1_000
PEERS = 12
_MEMBER = Member("group", "member", 1, None)
_FACTS = Facts({"topic": bytes(16)}, [_MEMBER], [Producer(1, 0, "t")], "cluster", bytes(16), 0, Pusher(bytes(16), 1))
_ASKING = request_frame(ApiVersionsRequest(client_software_name="fuzz", client_software_version="1"), 3)


class SecuredBySasl(Secured):
    """A listener that speaks SASL_SSL."""

    def _make(self, principal: Principal) -> Connection:
        dispatcher = Dispatcher(self.world.services, sasl_listeners={LISTENER: sasl_listener(self.world, 0)})
        connection = Connection(self.world.listener, dispatcher, session=dispatcher.session(LISTENER))
        self.connections.append(connection)
        return connection


def as_they_are(records: bytes, _: Random) -> bytes:
    return records


def cut_off(records: bytes, rng: Random) -> bytes:
    """Half a record, and no more."""
    return records[: rng.randrange(len(records))] if records else b""


def flipped(records: bytes, rng: Random) -> bytes:
    """A bit of a record is another, unless nothing was sent."""
    if not records:
        return b""
    position = rng.randrange(len(records))
    return records[:position] + bytes([records[position] ^ 1 << rng.randrange(8)]) + records[position + 1 :]


def doubled(records: bytes, _: Random) -> bytes:
    return records * 2


def behind_garbage(records: bytes, rng: Random) -> bytes:
    return (
        rng.choice((b"\0", b"\x16\x03\x03\x00\x05hello", b"\x15\x03\x03\x00\x02\x02\x28", rng.randbytes(50))) + records
    )


def before_garbage(records: bytes, rng: Random) -> bytes:
    return records + rng.choice((b"\x17\x03\x03\x00\x01", b"\x17\x03\x03\xff\xff" + bytes(90), rng.randbytes(50)))


def in_plain(records: bytes, _: Random) -> bytes:
    return _ASKING + records


_SPOILS: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(as_they_are, as_they_are, cut_off, flipped, doubled, behind_garbage, before_garbage, in_plain),
)


async def feed(seed: int, number: int, caplog: pytest.LogCaptureFixture) -> None:
    """One world, of some peers."""
    rng = Random(f"{seed} TLS {number}")
    world = BrokerWorld()
    secured = (SecuredBySasl if number % 2 else Secured)(world)
    again = f"again: .venv/bin/python -m pytest tests/fuzz/test_tls.py --seed {seed}: world {number}"
    for _ in range(PEERS):
        sent, spoil = attempt(OPENINGS[0], _FACTS, rng), rng.choice(_SPOILS)
        peer = secured.connect(rng.choice((1 << 30, 1 << 30, 500)))
        peer.transport.send(spoil(peer.records(sent.data), rng), rng.choice((1 << 30, 1 << 30, 100, 7)))
        await settle()
        told = f"{spoil.__name__} {sent.how} {sent.data[:500].hex()}, {again}"
        assert secured.memory.incoming.pending == secured.memory.outgoing.pending == 0, told
        if not peer.transport.is_lost:
            peer.transport.hang_up()
            while peer.transport.read():
                pass  # what it had not read is gone with it
        await settle()
        assert all(connection.is_closed for connection in secured.connections), told
        assert world.listener.frame_memory.used_bytes == world.listener.send_memory.unread_bytes == 0, told
        good, frames = secured.connect(), FrameBuffer()
        good.send(_ASKING)
        assert len(frames.feed(good.read())) == 1, told
        good.transport.hang_up()
        await settle()
    await world.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == [], again


@pytest.mark.parametrize("number", range(WORLDS))
async def test_what_is_no_record_ends_it_and_harms_nobody(
    number: int, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    await feed(seed, number, caplog)


@pytest.mark.long
async def test_ten_thousand_of_them(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(WORLDS, WORLDS_LONG):
        await feed(seed, number, caplog)


async def test_a_peer_that_stops_half_way_holds_no_more_than_it_sent() -> None:
    """A hundred peers that are in, each with half of a record, and one that is served."""
    world = BrokerWorld()
    secured = Secured(world)
    for _ in range(100):
        peer = secured.connect()
        records = peer.records(bytes(16_000))
        peer.transport.send(records[: len(records) // 2])
    assert world.listener.frame_memory.used_bytes == 0
    assert secured.memory.incoming.pending == 0
    good = secured.connect()
    good.send(_ASKING)
    assert len(FrameBuffer().feed(good.read())) == 1
    assert not peer.transport.is_lost
    await world.close()

"""Connections over TLS: what gets through, whom a certificate stands for, and peers that do not shake hands."""

import asyncio
import gc
import logging
import random
import re
import ssl
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from cryptography.x509 import Name, NameAttribute
from cryptography.x509.oid import NameOID

from barnabas.broker.network.connection import Connection
from barnabas.broker.network.memory_limits import SEND_PIECE_BYTES
from barnabas.broker.network.tls.handshakes import HANDSHAKE_MS, HANDSHAKES_MAX
from barnabas.broker.network.tls.tls_stream import TlsStream
from barnabas.protocol.connection.framing import FrameBuffer
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.support import requests
from tests.support.certificates import Authority, Issued, authority
from tests.support.tls_listener import Secured
from tests.support.tls_peer import StuckHandshake, TlsPeer, client_context
from tests.support.worlds.broker import BrokerWorld, request_frame, settle
from tests.support.worlds.memory_transport import MemoryTransport


def metadata(count: int, first: int = 0) -> bytes:
    return b"".join(request_frame(MetadataRequest(topics=None), 1, first + number) for number in range(count))


def numbers(frames: FrameBuffer, data: bytes) -> list[int]:
    return [int.from_bytes(frame[:4], "big") for frame in frames.feed(data)]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.fixture
async def secured(world: BrokerWorld) -> Secured:
    return Secured(world)


# --- what gets through


@pytest.mark.parametrize("step", [1 << 30, 1000, 7, 1])
async def test_requests_are_answered_however_their_records_arrive(secured: Secured, step: int) -> None:
    peer, frames = secured.connect(), FrameBuffer()
    peer.send(metadata(5), step)
    assert numbers(frames, peer.read()) == [0, 1, 2, 3, 4]


async def test_requests_that_come_with_the_end_of_the_handshake_are_answered(secured: Secured) -> None:
    peer = TlsPeer(secured.accept(), client_context(authority().pem))
    peer.shake_hands(and_send=metadata(2))
    assert numbers(FrameBuffer(), peer.read()) == [0, 1]


async def test_many_peers_at_once_do_not_meet_in_what_they_share(secured: Secured) -> None:
    peers = [(secured.connect(), FrameBuffer()) for _ in range(20)]
    for turn in range(10):
        for number, (peer, _) in enumerate(peers):
            data = metadata(1, first=turn * 100 + number)
            peer.send(data, 11)
    await settle()  # some answers leave at the end of their turn
    for number, (peer, frames) in enumerate(peers):
        assert numbers(frames, peer.read()) == [turn * 100 + number for turn in range(10)]


def fetch() -> bytes:
    """From the beginning, as a long poll."""
    return request_frame(requests.fetch(wait_ms=500, max_bytes=8 << 20), 4)


@pytest.mark.parametrize("kernel_bytes", [1 << 30, 300_000, 9_999])
async def test_a_large_answer_is_whole_and_waits_for_who_does_not_read(secured: Secured, kernel_bytes: int) -> None:
    value = random.Random(1).randbytes(900_000)
    for _ in range(4):
        secured.world.services.partitions.append("t", 0, bytearray(secured.world.batch(value)))
    peer = secured.connect(kernel_bytes)
    peer.send(fetch() + metadata(1, first=2))
    await settle()
    assert secured.world.listener.send_memory.unread_bytes <= SEND_PIECE_BYTES
    found, frames = bytearray(), FrameBuffer()
    answers: list[int] = []
    while len(answers) < 2:
        data = peer.read()
        found += data
        answers += numbers(frames, data)
        await settle()
    assert answers == [1, 2]
    assert bytes(found).count(value) == 4
    assert secured.memory.outgoing.pending == secured.memory.incoming.pending == 0


async def test_a_failed_receive_leaves_nothing_in_the_shared_buffer(secured: Secured) -> None:
    slow, quick = secured.connect(), secured.connect()
    slow.send(fetch() + metadata(2, first=5), 50)  # parked: there is nothing to fetch
    slow.send(metadata(1, first=7))
    assert secured.memory.incoming.pending == 0
    frames = FrameBuffer()
    quick.send(metadata(1, first=9))
    assert numbers(frames, quick.read()) == [9]
    secured.world.clock.advance(600)
    await settle()
    assert numbers(FrameBuffer(), slow.read()) == [1, 5, 6, 7]


async def test_a_peer_that_says_goodbye_is_served_to_its_end(secured: Secured) -> None:
    peer = secured.connect()
    peer.send(metadata(2))
    peer.say_goodbye()
    await settle()
    assert numbers(FrameBuffer(), peer.read()) == [0, 1]
    assert peer.transport.is_lost
    assert secured.connections[0].is_closed


class ChangesKeys:
    """OpenSSL with a peer that asks for new keys with each thing it sends: every read leaves an answer."""

    def __init__(self, tls: ssl.SSLObject, outgoing: ssl.MemoryBIO) -> None:
        self._tls, self._outgoing = tls, outgoing
        self.pending = tls.pending

    def read(self, size: int, buffer: memoryview) -> int:
        count: int = self._tls.read(size, buffer)  # type: ignore[assignment] # where there is a buffer it counts
        self._outgoing.write(b"new keys")
        return count


class Receives(asyncio.BufferedProtocol):
    """Takes so many bytes at a time, and looks at what is left in the memory that streams share."""

    def __init__(self, secured: Secured, size: int) -> None:
        self._secured = secured
        self._buffer = bytearray(size)
        self.left: list[bytes] = []

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.left.append(self._secured.memory.outgoing.read())


@pytest.mark.parametrize("size", [1 << 16, len(metadata(1))])
async def test_the_answer_to_new_keys_goes_to_the_peer_that_asked_alone(secured: Secured, size: int) -> None:
    connection = Receives(secured, size)
    stream = TlsStream(secured.memory, secured.endpoint, lambda _: connection)
    peer, other = TlsPeer(MemoryTransport(stream, 1 << 30), client_context(authority().pem)), secured.connect()
    peer.shake_hands()
    assert stream._tls is not None
    with patch.object(stream, "_tls", ChangesKeys(stream._tls, secured.memory.outgoing)):
        peer.send(metadata(1))
        peer.say_goodbye()
        assert secured.memory.outgoing.pending == 0
    assert connection.left == [b""]
    assert peer.transport.read() == b"new keys" * 2
    other.send(metadata(1, first=3))
    assert numbers(FrameBuffer(), other.read()) == [3]


async def test_ended_objects_are_freed_without_the_garbage_collector(secured: Secured) -> None:
    gc.collect()
    gc.disable()
    try:
        peer = secured.connect()
        peer.send(metadata(1))
        secured.connections.clear()
        peer.transport.hang_up()
        await settle()
        del peer
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert [each for each in gc.garbage if isinstance(each, ssl.SSLObject | Connection | TlsStream)] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


# --- for whom a certificate speaks


def with_certificate(directory: Path, issued: Issued) -> ssl.SSLContext:
    context = client_context(authority().pem)
    context.load_cert_chain(issued.write_pem(directory / "client.pem"))
    return context


async def test_a_client_speaks_for_whom_its_certificate_names(world: BrokerWorld, tmp_path: Path) -> None:
    secured = Secured(world, ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=(.*?),O=Castle$/$1/U")
    subject = Name([NameAttribute(NameOID.ORGANIZATION_NAME, "Castle"), NameAttribute(NameOID.COMMON_NAME, "duke")])
    secured.connect(context=with_certificate(tmp_path, authority().issue(subject)))
    assert str(secured.connections[0].session.principal) == "User:DUKE"


async def test_a_client_without_a_certificate_is_anonymous_where_one_is_only_requested(world: BrokerWorld) -> None:
    secured = Secured(world, ssl_client_auth="requested")
    secured.connect()
    assert str(secured.connections[0].session.principal) == "User:ANONYMOUS"


async def test_where_sasl_says_who_a_client_is_its_certificate_does_not(world: BrokerWorld, tmp_path: Path) -> None:
    secured = Secured(world, is_sasl=True)
    context = secured.endpoint.context
    context.verify_mode = ssl.CERT_REQUIRED  # as with listener.name.….ssl.client.auth=required
    context.load_verify_locations(cadata=authority().pem)
    secured.connect(context=with_certificate(tmp_path, authority().issue("duke")))
    assert str(secured.connections[0].session.principal) == "User:ANONYMOUS"


async def test_a_name_with_a_nul_is_not_cut_at_it(world: BrokerWorld, tmp_path: Path) -> None:
    secured = Secured(world, ssl_client_auth="required")
    secured.connect(context=with_certificate(tmp_path, authority().issue("admin\0.evil")))
    assert str(secured.connections[0].session.principal) == r"User:CN=admin\00.evil"


async def test_a_principal_that_fits_no_rule_is_rejected(
    world: BrokerWorld, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secured = Secured(world, ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=duke$/duke/")
    peer = secured.connect(context=with_certificate(tmp_path, authority().issue("eve")))
    assert peer.transport.is_lost
    assert secured.connections == []
    assert ["No rules apply to CN=eve" in line for line in lines(caplog)] == [True]


@pytest.mark.parametrize(
    ("client", "told"),
    [
        (None, "peer did not return a certificate"),
        (authority().issue(is_expired=True), "certificate has expired"),
        (Authority("of others").issue(), "unable to get local issuer certificate"),
    ],
    ids=["none", "expired", "of another authority"],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_without_a_good_certificate_is_told_and_not_let_in(
    world: BrokerWorld,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    client: Issued | None,
    told: str,
    version: ssl.TLSVersion,
) -> None:
    secured = Secured(world, ssl_client_auth="required")
    context = client_context(authority().pem) if client is None else with_certificate(tmp_path, client)
    context.maximum_version = version
    peer = TlsPeer(secured.accept(), context)
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        peer.shake_hands_and_read()
    assert secured.connections == []
    assert peer.transport.is_lost
    assert len(secured.handshakes) == 0
    assert [told in line for line in lines(caplog)] == [True]


# --- peers that do not shake hands


@pytest.mark.parametrize(
    "sent", [b"\0\0\0\x20\0\x12\0\0", b"GET / HTTP/1.1\r\n\r\n", b"\0", b"\xff" * 100], ids=["kafka", "http", "0", "ff"]
)
async def test_plain_bytes_end_it_with_one_line(
    secured: Secured, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    transport = secured.accept()
    transport.send(sent)
    assert transport.is_lost
    assert len(secured.handshakes) == 0
    assert ["are not a TLS handshake: does the client's security.protocol" in line for line in lines(caplog)] == [True]


@pytest.mark.parametrize(
    "sent", [b"\x16" * 200, b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", b"\x16\x03\x01\xff\xff" + b"a" * 99]
)
async def test_garbage_after_a_good_beginning_is_the_end(secured: Secured, sent: bytes) -> None:
    transport = secured.accept()
    transport.send(sent)
    transport.hang_up()
    assert transport.is_lost
    assert secured.connections == []
    assert secured.memory.incoming.pending == secured.memory.outgoing.pending == 0


async def test_garbage_after_the_handshake_is_the_end(secured: Secured, caplog: pytest.LogCaptureFixture) -> None:
    peer = secured.connect()
    peer.send(metadata(1))
    peer.transport.send(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    assert peer.transport.is_lost
    assert secured.connections[0].is_closed
    [said] = lines(caplog)
    assert re.search("TLS: (decryption failed or bad record mac|record layer failure)", said)  # OpenSSL 3.0 and 3.6
    assert secured.memory.incoming.pending == 0


async def test_an_older_version_is_refused(secured: Secured, caplog: pytest.LogCaptureFixture) -> None:
    context = client_context(authority().pem)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.deprecated_call():
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        TlsPeer(secured.accept(), context).shake_hands()
    assert ["TLS handshake: unsupported protocol" in line for line in lines(caplog)] == [True]


async def test_a_peer_that_says_nothing_is_given_up(secured: Secured, caplog: pytest.LogCaptureFixture) -> None:
    early = secured.accept()
    secured.world.clock.advance(HANDSHAKE_MS // 2)
    late, through = secured.accept(), secured.connect()
    secured.world.clock.advance(HANDSHAKE_MS // 2)
    assert (early.is_lost, late.is_lost) == (True, False)
    secured.world.clock.advance(HANDSHAKE_MS // 2)
    assert late.is_lost
    assert not through.transport.is_lost
    assert ["no TLS handshake within" in line for line in lines(caplog)] == [True, True]


async def test_peers_that_never_finish_keep_nobody_out(secured: Secured) -> None:
    hello = _hello()
    half_open = [secured.accept() for _ in range(HANDSHAKES_MAX)]
    for transport in half_open:
        transport.send(hello)
    assert len(secured.handshakes) == HANDSHAKES_MAX
    peer, frames = secured.connect(), FrameBuffer()
    peer.send(metadata(1))
    assert numbers(frames, peer.read()) == [0]
    assert [transport.is_lost for transport in half_open[:2]] == [True, False]


def _hello() -> bytes:
    """The beginning of a handshake, and all that ever comes."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client_context(authority().pem).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("seed", range(40))
async def test_whatever_a_peer_sends_others_are_served(secured: Secured, seed: int) -> None:
    """Handshakes and requests with bytes changed, lost and doubled: the peer may be closed, and nobody else."""
    dice = random.Random(seed)
    transport = secured.accept()
    peer = TlsPeer(transport, client_context(authority().pem))
    sending = transport.send

    def spoil(data: bytes, step: int = 1 << 30) -> None:
        spoiled = bytearray(data)
        if spoiled and dice.random() < 0.6:
            at = dice.randrange(len(spoiled))
            how = dice.randrange(3)
            spoiled[at : at + how] = dice.randbytes(dice.choice((0, 1, 1, 40)))
        if not transport.is_lost:
            sending(bytes(spoiled), dice.choice((1 << 30, 100, 3)))

    with patch.object(transport, "send", spoil), suppress(ssl.SSLError, StuckHandshake):  # one of the two sides notices
        peer.shake_hands(and_send=metadata(3))
        peer.send(metadata(3))
    await settle()
    assert secured.memory.incoming.pending == secured.memory.outgoing.pending == 0
    good = secured.connect()
    good.send(metadata(1))
    assert numbers(FrameBuffer(), good.read()) == [0]


async def test_a_stopping_broker_makes_no_handshake(secured: Secured) -> None:
    transport = secured.accept()
    secured.handshakes.close()
    assert transport.is_lost

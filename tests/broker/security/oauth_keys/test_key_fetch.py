"""A set of keys over HTTP: what is asked, what is taken, and how little a bad server can do."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.broker.security.oauth_keys.files import context_for
from barnabas.broker.security.oauth_keys.key_fetch import BODY_BYTES_MAX, fetch
from barnabas.broker.security.oauth_keys.refreshing_keys import LoadFailed
from barnabas.protocol.security.stores.identity import StoreError
from tests.support.certificates import Authority, authority
from tests.support.security.key_server import KeyServer
from tests.support.worlds.broker import turn

PASSWORD = "store-password-of-a-test"


async def test_a_set_is_requested_and_taken() -> None:
    async with KeyServer(b'{"keys": []}') as server:
        assert await fetch(server.url, None) == b'{"keys": []}'
        port = server.url.split(":")[2].split("/")[0]
    (asked,) = server.asked
    assert asked.startswith(b"GET /keys?of=kafka HTTP/1.1\r\n")
    assert f"\r\nhost: localhost:{port}\r\n" in asked.decode().lower()


async def test_an_answer_may_come_in_chunks_and_end_with_the_connection() -> None:
    async def chunked(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        await writer.drain()

    async def closed(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n{}")
        await writer.drain()

    for answer in (chunked, closed):
        async with KeyServer(answer) as server:
            assert await fetch(server.url, None) == b"{}"


def saying(*pieces: bytes, ends: bool = True) -> Callable[[asyncio.StreamWriter], object]:
    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if not ends:
            await asyncio.Event().wait()

    return answer


OK = b"HTTP/1.1 200 OK\r\n"
BROKEN = {
    "another status": (saying(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), "status 503"),
    "sent on": (saying(b"HTTP/1.1 302 Go\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n"), "status 302"),
    "no HTTP": (saying(b"SSH-2.0-x\r\n\r\n"), "not HTTP"),
    "nothing": (saying(), "not HTTP"),
    "half of it": (saying(OK + b"Content-Length: 10\r\n\r\n{}"), "not HTTP"),
    "a huge body": (saying(OK + b"\r\n", bytes(BODY_BYTES_MAX), b"x", ends=False), "more than 524288 bytes"),
    "a huge header": (saying(OK, b"X: " + b"y" * 200_000, ends=False), "header is too large"),
    "a slow body": (saying(OK + b"Content-Length: 10\r\n\r\n{", ends=False), "within 0.3 s"),
    "silence": (saying(ends=False), "within 0.3 s"),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_bad_server_is_given_up(how: str) -> None:
    answer, sentence = BROKEN[how]
    async with KeyServer(answer) as server:  # type: ignore[arg-type]  # the table is of functions that are awaited
        with pytest.raises(LoadFailed, match=sentence):
            await fetch(server.url, None, time_max_s=0.3 if "within" in sentence else 10)


async def test_an_endless_header_is_given_up() -> None:
    async def dripping(writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        while True:
            writer.write(b"X: y\r\n")
            await writer.drain()
            await turn()

    async with KeyServer(dripping) as server:
        with pytest.raises(LoadFailed, match=r"within 0.2 s|header is too large"):
            await fetch(server.url, None, time_max_s=0.2)


async def test_an_address_without_a_listener() -> None:
    async with KeyServer(b"") as server:
        url = server.url
    with pytest.raises(LoadFailed):
        await fetch(url, None)


def server_context(directory: Path, host: str = "localhost", issuer: Authority | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain((issuer or authority()).issue("keys", (host,)).write_pem(directory / "server.pem"))
    return context


async def test_a_server_is_trusted_by_the_store_that_is_named(tmp_path: Path) -> None:
    stores = [
        {"certificates": authority().pem},
        {"location": str(authority().write(tmp_path / "trusted.pem")), "type": "PEM"},
        {"location": str(authority().write_pkcs12(tmp_path / "trusted.p12", PASSWORD)), "password": PASSWORD},
    ]
    async with KeyServer(b"{}", server_context(tmp_path)) as server:
        for trust in stores:
            assert await fetch(server.url, context_for(trust)) == b"{}"
        for distrusting in ({}, {"certificates": Authority("other").pem}):
            with pytest.raises(LoadFailed, match="certificate is not trusted"):
                await fetch(server.url, context_for(distrusting))


async def test_a_certificate_of_another_host_is_not_trusted(tmp_path: Path) -> None:
    async with KeyServer(b"{}", server_context(tmp_path, "other.test")) as server:
        with pytest.raises(LoadFailed, match=r"certificate is not trusted.*localhost"):
            await fetch(server.url, context_for({"certificates": authority().pem}))


async def test_an_authority_that_leaves_out_identifiers_is_trusted_as_in_java(tmp_path: Path) -> None:
    issuer = Authority("of a company", is_strict=False)
    async with KeyServer(b"{}", server_context(tmp_path, issuer=issuer)) as server:
        assert await fetch(server.url, context_for({"certificates": issuer.pem})) == b"{}"


@pytest.mark.parametrize(
    ("trust", "sentence"),
    [
        ({"location": "/none/x.p12"}, "ssl.truststore.location: /none/x.p12: No such file"),
        ({"certificates": "x"}, "ssl.truststore.certificates"),
        ({}, ""),
    ],
)
def test_a_store_that_cannot_be_used_is_named(trust: dict[str, str], sentence: str) -> None:
    if not trust:
        assert context_for(trust).verify_mode is ssl.CERT_REQUIRED
        return
    with pytest.raises(StoreError, match=sentence):
        context_for(trust)

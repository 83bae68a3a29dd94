"""A set of keys from an HTTP server: one GET, bounded in time and size, without redirects, that blocks no other work.

The bounds are jose4j's where it has any. Speaks HTTP/1.1 by h11, over TLS where the URL says so. Knows nothing of keys.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Final
from urllib.parse import urlsplit

import h11

from barnabas.broker.security.oauth_keys.refreshing_keys import LoadFailed

BODY_BYTES_MAX: Final = 512 << 10
TIME_MAX_S: Final = 10.0
"""For all of it: name resolution, TLS, and the response."""
_READ_BYTES: Final = 64 << 10
_PORTS: Final = {"http": 80, "https": 443}


async def fetch(url: str, context: ssl.SSLContext | None, time_max_s: float = TIME_MAX_S) -> bytes:
    """Return the body of the server's response. context: for https. Raises LoadFailed."""
    try:
        async with asyncio.timeout(time_max_s):
            return await _requested(url, context)
    except TimeoutError:
        raise LoadFailed(f"there was no complete response within {time_max_s:g} s") from None
    except ssl.SSLCertVerificationError as error:
        raise LoadFailed(f"the server's certificate is not trusted: {error.verify_message}") from error
    except OSError as error:
        raise LoadFailed(error.strerror or str(error)) from error
    except h11.RemoteProtocolError as error:
        raise LoadFailed("the response is not HTTP, or its header is too large") from error


async def _requested(url: str, context: ssl.SSLContext | None) -> bytes:
    parts = urlsplit(url)
    assert parts.hostname is not None, "settings are checked"
    reader, writer = await asyncio.open_connection(
        parts.hostname, parts.port or _PORTS[parts.scheme], ssl=context, limit=_READ_BYTES
    )
    try:
        connection = h11.Connection(h11.CLIENT)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = [("Host", parts.netloc.rpartition("@")[2]), ("Accept", "application/json"), ("Connection", "close")]
        writer.write(connection.send(h11.Request(method="GET", target=target, headers=headers)) or b"")
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        return await _answer(connection, reader)
    finally:
        writer.transport.abort()  # no closing handshake: a server that does not answer it would delay this


async def _answer(connection: h11.Connection, reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_READ_BYTES))
        elif isinstance(event, h11.Response):
            if event.status_code != 200:
                raise LoadFailed(f"the server responds with status {event.status_code}")
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > BODY_BYTES_MAX:
                raise LoadFailed(f"the response has more than {BODY_BYTES_MAX} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return bytes(body)

"""Frames over real sockets: broken ones each on its own connection, ordinary requests on one that stays."""

import asyncio
import socket
from contextlib import suppress
from struct import Struct
from typing import Any

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.headers import parse_response_header
from barnabas.protocol.registry import ApiKey, response_codec
from tests.support.fuzz.judge import Finding
from tests.support.fuzz.mutations import Sent
from tests.support.worlds.broker import request_frame

TIMEOUT_S = 20.0
_SIZE = Struct(">i")
_PIECES_MAX = 50


class SocketClient:
    """A client of the broker at `port`; `close` it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request, version: int) -> Any:
        """The answer to an ordinary request."""
        async with asyncio.timeout(TIMEOUT_S):
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            writer.write(request_frame(request, version))
            (size,) = _SIZE.unpack(await reader.readexactly(4))
            answer = await reader.readexactly(size)
        key = request.__schema__.key
        assert key is not None
        _, position = parse_response_header(key, version, answer)
        return response_codec(ApiKey(key), version).decode(answer, position)[0]

    async def send(self, sent: Sent) -> list[bytes]:
        """Send these bytes and nothing more; the answers until the broker closed, which it must."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._send(sent)
        except TimeoutError as error:
            raise Finding(f"the broker has not closed after {TIMEOUT_S:.0f} s") from error

    async def _send(self, sent: Sent) -> list[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = b""
        try:
            step = max(sent.step, len(sent.data) // _PIECES_MAX + 1)
            for start in range(0, len(sent.data), step):
                writer.write(sent.data[start : start + step])
                await writer.drain()
            writer.write_eof()
            while more := await reader.read(1 << 16):
                received += more
        except OSError:
            pass  # the broker closed first, which is an answer too
        finally:
            writer.close()
        return list(_frames(received))

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            with suppress(OSError):  # the broker may be gone already
                await self._streams[1].wait_closed()


def _frames(received: bytes) -> Any:
    position = 0
    while position < len(received):
        (size,) = _SIZE.unpack_from(received, position)
        yield received[position + 4 : position + 4 + size]
        position += 4 + size

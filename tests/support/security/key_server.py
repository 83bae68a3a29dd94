"""An HTTP server that publishes a set of keys, or behaves as a test wants."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Self

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class KeyServer:
    """On its own port, on the running loop."""

    def __init__(self, answer: bytes | Answer, context: ssl.SSLContext | None = None) -> None:
        """answer: the body, or a function for a connection with a request."""
        self.answer = answer
        self.asked: list[bytes] = []
        self._context = context
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        scheme = "http" if self._context is None else "https"
        return f"{scheme}://localhost:{self._server.sockets[0].getsockname()[1]}/keys?of=kafka"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(await reader.readuntil(b"\r\n\r\n"))
            if isinstance(self.answer, bytes):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self.answer) + self.answer)
                await writer.drain()
            else:
                await self.answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone: its test checks that, not this server
        finally:
            writer.close()

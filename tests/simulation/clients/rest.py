"""A client's connection to an HTTP port: one request after the other, in JSON; a new connection after it was lost."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11

from tests.simulation.clients.wire import Disconnected
from tests.simulation.world.network import End, Network
from tests.simulation.world.process import Process

_TIMEOUT_S = 3.0


class Rest:
    """Asks one server."""

    def __init__(self, network: Network, process: Process, port: int) -> None:
        self._network, self._process, self._port = network, process, port
        self._end: End | None = None
        self._http = h11.Connection(h11.CLIENT)
        self._answer: asyncio.Future[tuple[int, Any]] | None = None
        self._status, self._body = 0, b""

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of the answer. Disconnected: what was asked may have been done."""
        end = await self._connected()
        self._answer = self._process.loop.create_future()
        end.send(self._request(method, path, b"" if body is None else json.dumps(body).encode()))
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return await self._answer
        except TimeoutError:
            self._drop()
            raise Disconnected("no answer") from None

    async def _connected(self) -> End:
        if self._end is not None and not self._end.is_lost:
            return self._end
        end: End
        try:
            end = await self._network.connect(self._process, self._port, lambda: self._lost(end))
        except OSError as error:
            raise Disconnected(str(error)) from error
        end.when_received = lambda data: self._receive(end, data)
        self._end, self._http = end, h11.Connection(h11.CLIENT)
        return end

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        headers = [("host", "registry"), ("content-type", "application/json"), ("content-length", str(len(body)))]
        parts = (h11.Request(method=method, target=path, headers=headers), h11.Data(data=body), h11.EndOfMessage())
        self._body = b""
        return b"".join(self._http.send(part) or b"" for part in parts)

    def _receive(self, end: End, data: bytes) -> None:
        if end is not self._end:
            return
        self._http.receive_data(data)
        while (event := self._http.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.Response):
                self._status = event.status_code
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                self._answered()
                return

    def _answered(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((self._status, json.loads(self._body or b"null")))
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            self._drop()

    def _drop(self) -> None:
        if self._end is not None:
            self._end.close()
            self._lost(self._end)

    def _lost(self, end: End) -> None:
        if end is self._end:
            self._end = None
            if self._answer is not None and not self._answer.done():
                self._answer.set_exception(Disconnected("the connection was lost"))

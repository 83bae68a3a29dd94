"""A client's connection to the broker: requests out, answers in order, a timeout, a new connection after it was lost.

Knows frames and codecs; what to do about an error is the clients' business. As with stock clients, a request that is
not answered in time takes the connection with it, and all other requests on it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, NamedTuple

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.headers import encode_request_header, parse_response_header
from barnabas.protocol.registry import ApiKey, request_codec, response_codec
from tests.simulation.history.answers import Unanswered
from tests.simulation.history.history import TopicPartition
from tests.simulation.secured.login import Login, LoginRefused
from tests.simulation.world.network import End, Network
from tests.simulation.world.process import Process

_SIZE = Struct(">i")
_REFUSAL_MS = 2_500  # for how long a broker may hold back that somebody is not who he says


class Disconnected(Exception):
    """The connection was lost, or there is none to be had: what was asked may have been done."""


class _Asked(NamedTuple):
    """A request that is not answered yet."""

    key: int
    version: int
    answer: asyncio.Future[Any]
    began_us: int


class Wire:
    """Asks one broker, over one connection at a time."""

    def __init__(
        self,
        network: Network,
        process: Process,
        port: int,
        *,
        client_id: str,
        when_unanswered: Callable[[Unanswered], None] = lambda unanswered: None,
        timeout_ms: int = 3_000,
        login: Login | None = None,
    ) -> None:
        """when_unanswered: is told of requests that a broker which lives did not answer in time.

        login: how it proves who it is, on each connection, before it asks for anything.
        """
        self._network, self._process, self.port = network, process, port
        self.answered_by = port
        """The port of the node that gave the last answer."""
        self._client_id = client_id
        self._when_unanswered = when_unanswered
        self._timeout_s = timeout_ms / 1000
        self.login = login
        self.connections = 0
        """How many it has had."""
        self.arrives_us = 0
        """When what was sent last arrives, or would have."""
        self._end: End | None = None
        self._received = bytearray()
        self._waiting: deque[_Asked] = deque()
        self._connecting: asyncio.Task[End] | None = None

    async def ask(self, request: Request, version: int, *, wait_ms: int = 0) -> Any:
        """The answer. Disconnected. `wait_ms`: how long the broker may wait before it answers."""
        return await self._ask(await self._connected(), request, version, wait_ms)

    async def _ask(self, end: End, request: Request, version: int, wait_ms: int) -> Any:
        asked = self._send(end, request, version)
        self.arrives_us = arrives_us = end.arrives_us
        try:
            async with asyncio.timeout(self._timeout_s + wait_ms / 1000):
                return await asked.answer
        except TimeoutError:
            if self._waiting and self._waiting[0] is asked:
                self._note_unanswered(end, asked, arrives_us, wait_ms)
            self._drop(end)
            raise Disconnected("no answer") from None

    async def connect(self) -> None:
        """Have a connection, that is logged in where it has to be. Disconnected."""
        await self._connected()

    async def _connected(self) -> End:
        end = self._end
        is_at_it = self._connecting is not None or (self.login is not None and self.login.is_due)
        if end is not None and not end.is_lost and not is_at_it:
            return end
        if self._connecting is None:
            self._connecting = self._process.loop.create_task(self._connect())
        try:
            return await asyncio.shield(self._connecting)
        except OSError as error:
            raise Disconnected(str(error)) from error

    async def _connect(self) -> End:
        try:
            if self._end is not None and not self._end.is_lost:
                await self._log_in(self._end, again=True)
                return self._end
            end: End
            end = await self._network.connect(self._process, self.port, lambda: self._lost(end))
            end.when_received = lambda data: self._receive(end, data)
            self._received.clear()
            self._end = end
            self.connections += 1
            if self.login is not None:
                await self._log_in(end, again=False)
            return end
        finally:
            self._connecting = None

    async def _log_in(self, end: End, *, again: bool) -> None:
        """Disconnected, also where it is refused."""
        assert self.login is not None
        try:
            await self.login.log_in(lambda request, version: self._ask(end, request, version, _REFUSAL_MS), again=again)
        except LoginRefused as refused:
            self._drop(end)
            raise Disconnected(str(refused)) from refused

    @property
    def is_connected(self) -> bool:
        """Whether a request would be sent at once."""
        return self._end is not None and not self._end.is_lost and self._connecting is None

    async def by_node(self, partitions: Iterable[TopicPartition]) -> dict[Wire, list[TopicPartition]]:
        """The partitions that one Fetch may ask for, together, by the connection to their leader."""
        wanted = list(partitions)
        return {self: wanted} if wanted else {}

    def forget(self, at: TopicPartition) -> None:
        """Ask again who leads a partition. There is one node."""

    def _note_unanswered(self, end: End, asked: _Asked, arrived_us: int, wait_ms: int) -> None:
        """It is the next to be answered, and nothing is on its way: the broker has not done so."""
        now_us = self._network.world.now_us
        if not end.is_lost and not end.other.is_lost and end.other.arrives_us <= now_us:
            began_us, api = asked.began_us, ApiKey(asked.key).name
            arrived_us = max(arrived_us, end.other.reads_again_us)
            self._when_unanswered(Unanswered(self._client_id, api, began_us, arrived_us, now_us, wait_ms))

    def open_requests(self) -> Iterator[str]:
        """What it waits for, as lines."""
        for asked in self._waiting:
            api = ApiKey(asked.key).name
            yield f"{self._client_id} waits for port {self.port}: {api}, asked at {asked.began_us / 1000:.3f} ms"

    def _send(self, end: End, request: Request, version: int) -> _Asked:
        key = request.__schema__.key
        assert key is not None
        payload = encode_request_header(key, version, 1, self._client_id)
        payload += request_codec(key, version).encode(request)
        asked = _Asked(key, version, self._process.loop.create_future(), self._network.world.now_us)
        self._waiting.append(asked)
        end.send(_SIZE.pack(len(payload)) + payload)
        return asked

    def _receive(self, end: End, data: bytes) -> None:
        if end is not self._end:
            return
        self._received += data
        while len(self._received) >= 4:
            (size,) = _SIZE.unpack_from(self._received)
            if len(self._received) < 4 + size:
                return
            frame = bytes(self._received[4 : 4 + size])
            del self._received[: 4 + size]
            key, version, answer, _ = self._waiting.popleft()
            _, position = parse_response_header(key, version, frame)
            message, position = response_codec(key, version).decode(frame, position)
            assert position == len(frame), "bytes behind the response"
            if not answer.done():
                answer.set_result(message)

    def close(self) -> None:
        """The connection is no more; the next request has another one."""
        if self._end is not None:
            self._drop(self._end)

    def _drop(self, end: End) -> None:
        end.close()
        self._lost(end)

    def _lost(self, end: End) -> None:
        if end is self._end:
            self._end = None
            waiting, self._waiting = self._waiting, deque()
            for asked in waiting:
                if not asked.answer.done():
                    asked.answer.set_exception(Disconnected("the connection was lost"))

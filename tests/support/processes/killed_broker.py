"""A broker in a process that is killed again and again, seen by programs that outlive it, each over its own connection.

`KilledBroker` owns the process and kills it; `Line` is what one program has: `ask` raises ConnectionError when the
process died over the request, `boot` waits for the next one.
"""

import asyncio
import time
from typing import Any

from barnabas.protocol.codec.schema import Request
from tests.support.fuzz.socket_client import TIMEOUT_S, SocketClient
from tests.support.processes.server import Server

BACK_TIMEOUT_S = 60.0


class KilledBroker:
    """`server` is running."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.deaths = 0
        self.is_up = asyncio.Event()
        self.is_up.set()

    async def kill_after(self, delay_s: float) -> None:
        """Let it live for so long, then kill it and start the next."""
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=delay_s)
        self.is_up.clear()
        await asyncio.to_thread(self.server.kill)
        self.deaths += 1
        await asyncio.to_thread(self.server.start)
        self.is_up.set()


class Line:
    """One program's connection."""

    def __init__(self, broker: KilledBroker) -> None:
        self._broker = broker
        self._client = SocketClient(broker.server.port)

    async def ask(self, request: Request, version: int) -> Any:
        """The answer; ConnectionError when the process died."""
        try:
            return await self._client.ask(request, version)
        except asyncio.IncompleteReadError as cut:
            raise ConnectionResetError("the broker is gone") from cut
        except TimeoutError:
            output = await asyncio.to_thread(self._broker.server.abort)
            raise AssertionError(f"no answer to {type(request).__name__} in {TIMEOUT_S:.0f} s:\n{output}") from None

    async def advance(self, delay_ms: float) -> None:
        """Let time pass."""
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=delay_ms / 1000)

    async def boot(self) -> None:
        """Wait until the next process can be used."""
        await self._client.close()
        await asyncio.wait_for(self._broker.is_up.wait(), BACK_TIMEOUT_S)
        self._client = SocketClient(self._broker.server.port)

    async def close(self) -> None:
        await self._client.close()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

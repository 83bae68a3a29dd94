"""A proxy in front of a broker that loses connections where a test wants it: before a request arrives, or its answer.

The broker advertises the proxy's address (`advertised.listeners`), so that every connection goes through it. It reads
frames, and knows of each request its API; `heard` counts them. A cut names the request by its place in what is heard
from then on. `is_down` refuses all connections, as a stopped broker does.
"""

import socket
import threading
from contextlib import suppress
from enum import Enum

from barnabas.protocol.connection.framing import FrameBuffer, frame
from barnabas.protocol.registry import ApiKey
from tests.support.processes.listener import ThreadedListener

_UNCOUNTED = frozenset({ApiKey.API_VERSIONS})


class Cut(Enum):
    """Where the connection is lost."""

    BEFORE = "before the request reaches the broker"
    AFTER = "when the broker has done it, before the answer is seen"


class CuttingProxy(ThreadedListener):
    """Listens on a free port from the start; `target` is the broker's port, to be set when it is known."""

    def __init__(self) -> None:
        super().__init__()
        self.target = 0
        self.heard: list[ApiKey] = []
        self.is_down = False
        self._cut: tuple[int, Cut, bool] | None = None
        self._lock = threading.Lock()

    def listen(self) -> None:
        """Count from here; nothing is cut, all connections are accepted."""
        with self._lock:
            self.heard.clear()
            self._cut, self.is_down = None, False

    def cut(self, nth: int, where: Cut, *, for_good: bool = False) -> None:
        """Lose the connection at the nth request from here (from 0); for good: and accept no connection after it."""
        with self._lock:
            self.heard.clear()
            self._cut, self.is_down = (nth, where, for_good), False

    def _serve(self, connection: socket.socket) -> None:
        """One request after the other: as the broker answers in order, nothing is lost by it."""
        frames = FrameBuffer()
        with connection, suppress(OSError):  # either end is gone
            if self.is_down:
                return
            with socket.create_connection(("127.0.0.1", self.target)) as broker:
                self._open.append(broker)
                while data := connection.recv(1 << 16):
                    for request in frames.feed(data):
                        where = self._judge(ApiKey(int.from_bytes(request[:2], "big")))
                        if where is Cut.BEFORE:
                            return
                        broker.sendall(frame(request))
                        answer = _receive(broker)
                        if where is Cut.AFTER or answer is None:
                            return
                        connection.sendall(frame(answer))

    def _judge(self, api: ApiKey) -> Cut | None:
        with self._lock:
            if self.is_down:
                return Cut.BEFORE
            if api in _UNCOUNTED:
                return None
            self.heard.append(api)
            if self._cut is None or len(self.heard) - 1 != self._cut[0]:
                return None
            _, where, self.is_down = self._cut
            self._cut = None
            return where


def _receive(broker: socket.socket) -> memoryview | None:
    frames = FrameBuffer()
    while data := broker.recv(1 << 16):
        for answer in frames.feed(data):
            return answer
    return None

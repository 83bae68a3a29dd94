"""A port in front of another one: what a container engine's mapped port is, and a proxy, and a tunnel."""

import socket
import threading
from contextlib import suppress
from typing import Self

_PIECE_BYTES = 1 << 16


class Forwarder:
    """Accepts connections on a free port of `host` and passes their bytes on to `target` once that is set.

    Used as a context manager; at its end no connection through it lives on. `connections` counts those that came.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.target: tuple[str, int] | None = None
        self.connections = 0
        self._listening = socket.create_server((host, 0))
        self._open: list[socket.socket] = []
        self._passing: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        for each in self._open:
            with suppress(OSError):  # it is over already
                each.shutdown(socket.SHUT_RDWR)  # closing alone wakes no thread that reads, and ends no connection
        for thread in self._passing:
            thread.join()
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return  # it is over
            self.connections += 1
            assert self.target is not None, "a client connected before there was a target"
            far = socket.create_connection(self.target)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                thread = threading.Thread(target=_pass_on, args=(source, sink), daemon=True)
                self._passing.append(thread)
                thread.start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # either end is gone
        while piece := source.recv(_PIECE_BYTES):
            sink.sendall(piece)
    with suppress(OSError):  # the peer has closed it
        sink.shutdown(socket.SHUT_WR)

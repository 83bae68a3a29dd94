"""A listener on a free port of this machine whose connections are served in threads."""

import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self


class ThreadedListener(ABC):
    """Accepts connections while it is used as a context manager; at its end none of them lives on.

    It listens from the start. `connections` counts those that came.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.connections = 0
        self._listener = socket.create_server((host, 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def drop_connections(self) -> None:
        """Close every connection, as a broker that dies does."""
        for connection in self._open:
            with suppress(OSError):  # the peer has closed it
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._accepting = self._run(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # not on this system: `close` is enough
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()  # from here on no connection is added
        self.drop_connections()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        with suppress(OSError):  # `__exit__` has closed it
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                self._run(self._serve, connection)

    @abstractmethod
    def _serve(self, connection: socket.socket) -> None:
        """Serve one connection, in a thread of its own."""

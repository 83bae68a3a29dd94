"""A port in front of another one: what a container engine's mapped port is, and a proxy, and a tunnel."""

import socket
from contextlib import suppress

from tests.support.processes.listener import ThreadedListener

_PIECE_BYTES = 1 << 16


class Forwarder(ThreadedListener):
    """Passes the bytes of connections on to `target` once that is set."""

    target: tuple[str, int] | None = None

    def _serve(self, connection: socket.socket) -> None:
        assert self.target is not None, "a client connected before there was a target"
        with connection, socket.create_connection(self.target) as far:
            self._open.append(far)
            back = self._run(_pass_on, far, connection)
            _pass_on(connection, far)
            back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # either end is gone
        while piece := source.recv(_PIECE_BYTES):
            sink.sendall(piece)
    with suppress(OSError):  # the peer has closed it
        sink.shutdown(socket.SHUT_WR)

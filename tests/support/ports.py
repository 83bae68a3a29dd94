"""Free ports, to bind later, or to connect where no process listens."""

import fcntl
import os
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

_FIRST, _COUNT = 20_000, 12_000
_STRIDE = 997  # a server of several nodes also takes the ports behind its own: these are given out much later
_NEXT = Path(tempfile.gettempdir()) / f"barnabas-test-ports-{os.getuid()}"


def unused_port() -> int:
    """A port below those that systems give to requests for any port, and that no other test of this machine gets.

    All processes take it from one sequence, so it is not given again before thousands of others were.
    """
    for _ in range(_COUNT):
        port = _FIRST + _next_number() * _STRIDE % _COUNT
        with suppress(OSError), socket.create_server(("", port)):  # in use: the next one
            return port
    raise AssertionError("every port is in use")


def _next_number() -> int:
    with _NEXT.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        number = int(file.read() or os.getpid())
        file.truncate(0)
        file.write(str(number + 1))
    return number

"""Free ports, to bind later, or to connect where no process listens."""

import itertools
import os
import socket
from contextlib import suppress

_FIRST, _COUNT = 20_000, 12_000
_PER_PROCESS = 997  # so that the workers of a run, whose numbers are near each other, do not meet
_numbers = itertools.count(os.getpid() * _PER_PROCESS)


def unused_port() -> int:
    """A port below those that systems give to requests for any port, and so to another test at the same time."""
    for number in _numbers:
        port = _FIRST + number % _COUNT
        with suppress(OSError), socket.create_server(("", port)):  # in use: the next one
            return port
    raise AssertionError("numbers end")

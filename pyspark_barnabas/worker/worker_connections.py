"""The connections of one of Spark's Python workers to the JVM, on which small pieces have to arrive without a pause.

Spark writes a task's input in several small pieces to a TCP connection, and its kernel sends the second only when the
first was acknowledged (Nagle's algorithm). A kernel on the other side that has nothing to send acknowledges after
40 ms (delayed acknowledgement, RFC 1122 4.2.3.2), and each task waits for those, in addition to its work. A worker can
have its own kernel acknowledge as soon as it has read. That holds until it sends something itself, so it is requested
again for each task; what comes first in a task, and before its rows, is the pickled object that the task calls.

The module knows nothing of the data that is sent. On a system without such a setting, and on Spark's Unix domain
sockets (`spark.python.unix.domain.socket.enabled`), which have no acknowledgements, nothing is done.
"""

from __future__ import annotations

import ctypes
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

_OPEN_FILES = Path("/proc/self/fd")  # of Linux, as is the setting


class SentToWorkers:
    """Base class of objects that Spark pickles and calls in a task."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with suppress(OSError, AttributeError):  # /proc is closed, or the function is missing: then a task only waits
            acknowledge_at_once()


def acknowledge_at_once() -> None:
    """Make all TCP connections of this process acknowledge received data without waiting for more.

    Raise OSError or AttributeError if the system does not allow it.
    """
    setting = getattr(socket, "TCP_QUICKACK", None)
    if setting is None or not _OPEN_FILES.is_dir():
        return
    # Not by a socket object over the descriptor, which would give it the process's default timeout.
    setsockopt, yes = ctypes.CDLL(None).setsockopt, ctypes.c_int(1)
    for entry in _OPEN_FILES.iterdir():  # refused, without effect, if it is not a TCP connection or closed by now
        setsockopt(int(entry.name), socket.IPPROTO_TCP, setting, ctypes.byref(yes), ctypes.sizeof(yes))

"""The pool of this process: one process of ours, started ahead, from which brokers are forked in milliseconds.

It is started with its own import path: the standard library, then the directory of this package, then the
installed packages, and nothing of the directory, the environment or `sys.path` of the user, whose own `broker` or
`storage` package it therefore never sees. It ends with this process, however this process ends (inside/nursery.py).

A process that is forked from this one has its own pool when it needs one, and releases this one's.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec

from barnabas.embedded.channel import HEAD, encode
from barnabas.embedded.errors import BarnabasError
from barnabas.embedded.settings import Wire

_PROGRAM = """\
import sys
descriptor, parent, root, *others = sys.argv[1:]
sys.path.append(root)
import site
site.main()
sys.path.extend(others)
from barnabas.embedded.inside.nursery import main
main(int(descriptor), int(parent))
"""
_NEEDED = ("crc32c", "cramjam", "re2", "uvloop", "xxhash", "zstandard")
_MEASURED = ("COVERAGE_PROCESS", "COV_CORE")  # with these, installed packages begin to measure any Python's coverage
_END_TIMEOUT_S = 10.0
_LAST_OUTPUT_S = 1.0


class Pool:
    """One nursery process. Starting it does not wait for it."""

    def __init__(self) -> None:
        if not sys.executable:
            raise BarnabasError("sys.executable is empty: no Python is known to start the broker with")
        self._asking = threading.Lock()  # a request is sent in two parts, and nothing may come between
        self._socket, theirs = socket.socketpair()
        flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
        arguments = [str(theirs.fileno()), str(os.getpid()), *import_path()]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *flags, "-c", _PROGRAM, *arguments],
                cwd="/",
                env={name: text for name, text in os.environ.items() if not name.startswith(_MEASURED)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # so that ^C reaches the tests, which end their brokers in their own order
            )

    @property
    def pid(self) -> int:
        """The nursery's process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can fork brokers."""
        return self._process.poll() is None

    def fork(self, settings: Wire, home: str | None) -> socket.socket:
        """Fork a broker; return the owner's end of its socket. `home`: that of an earlier broker, to continue in."""
        request = encode({**settings, "home": home})
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._asking:
                socket.send_fds(self._socket, [request[: HEAD.size]], [theirs.fileno()])
                self._socket.sendall(request[HEAD.size :])
        except OSError:
            ours.close()
            raise BarnabasError(f"the process that starts brokers has ended: {self.last_output()}") from None
        return ours

    def close(self) -> None:
        """End the nursery and all its brokers."""
        self._socket.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def let_go(self) -> None:
        """Release all its resources in a process that was forked from the pool's own."""
        self._socket.close()
        self._process.returncode = 0  # it is not ours to wait for

    def last_output(self) -> str:
        """Return the last output of the nursery, after waiting for its end."""
        with suppress(subprocess.TimeoutExpired):  # then its output so far
            self._process.wait(_LAST_OUTPUT_S)
        stderr = self._process.stderr
        with _lock:  # another thread may close a pool that has died
            output = stderr.read() if stderr is not None and not stderr.closed and not self.is_alive else b""
        return output.decode(errors="replace").strip() or f"exit status {self._process.returncode}"


def import_path() -> list[str]:
    """Return the directory of `barnabas`, then those of its dependencies: these may be outside what `site` knows."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    origins = [spec.origin for name in _NEEDED if (spec := find_spec(name)) is not None and spec.origin]
    places = [os.path.dirname(each) for each in origins]
    places = [os.path.dirname(place) if os.path.basename(place) in _NEEDED else place for place in places]
    return [root, *dict.fromkeys(place for place in places if place != root)]


_lock = threading.Lock()
_pool: Pool | None = None


def current() -> Pool:
    """Return the pool of this process, started if there is none or it has died."""
    global _pool
    with _lock:
        if _pool is not None and not _pool.is_alive:
            _pool.close()
            _pool = None
        if _pool is None:
            _pool = Pool()
        return _pool


def close() -> None:
    """End the pool of this process with all its brokers; the next use starts a new one."""
    global _pool
    with _lock:
        if _pool is not None:
            _pool.close()
            _pool = None


def _after_fork_in_child() -> None:
    global _lock, _pool
    _lock = threading.Lock()
    if _pool is not None:
        _pool.let_go()
        _pool = None


atexit.register(close)
os.register_at_fork(after_in_child=_after_fork_in_child)

"""Where the processes of a pipeline are held at named points: the test's side.

A process at a point asks the gate (`points.hit`), and continues unless the test holds that point; then it waits for the
test's decision. So nothing here waits for time to pass, and what a test does happens exactly at its point.
"""

import json
import socket
import threading
from typing import NamedTuple, Self

WAIT_S = 240.0


class Hit(NamedTuple):
    """Who is at which point."""

    stream: str
    point: str
    batch: int
    pid: int


class Held:
    """A point at which a process will be held, and the held process, once there is one."""

    def __init__(self, stream: str, point: str, batch: int | None, order: str = "") -> None:
        self._wanted = stream, point, batch
        self._order = order
        self._arrived = threading.Event()
        self._line: socket.socket | None = None
        self.hit: Hit | None = None

    def wants(self, hit: Hit) -> bool:
        stream, point, batch = self._wanted
        return self.hit is None and (stream, point) == (hit.stream, hit.point) and batch in (None, hit.batch)

    def take(self, hit: Hit, line: socket.socket) -> None:
        self.hit, self._line = hit, line
        self._arrived.set()
        if self._order:
            self.release(self._order)

    def wait(self) -> Hit:
        """Wait until a process is held."""
        assert self._arrived.wait(WAIT_S), f"no process came to {self._wanted}"
        assert self.hit is not None
        return self.hit

    def release(self, order: str = "go") -> None:
        """Let it continue: `go`, `raise` an error there, or `exit` the process."""
        assert self._line is not None
        with self._line:
            try:
                self._line.sendall(order.encode() + b"\n")
            except OSError:
                return  # it was killed meanwhile

    def close(self) -> None:
        """Forget it: a process that is held there finds the gate gone."""
        if self._line is not None:
            self._line.close()


class Gate:
    """Listens on a free port of this machine while it is entered."""

    def __init__(self) -> None:
        self._held: list[Held] = []
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for each in self._held:
            each.close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.getsockname()[1]}"

    def hold(self, stream: str, point: str, *, batch: int | None = None) -> Held:
        """Whoever of the stream comes to the point next (in that batch) is held there."""
        held = Held(stream, point, batch)
        with self._changed:
            self._held.append(held)
        return held

    def order(self, stream: str, point: str, order: str, *, batch: int | None = None) -> Held:
        """The next process of the stream at the point gets this at once: see Held.release."""
        held = Held(stream, point, batch, order)
        with self._changed:
            self._held.append(held)
        return held

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        with line.makefile() as requests:
            request = requests.readline()
        if not request:
            return line.close()
        hit = Hit(**json.loads(request))
        with self._changed:
            held = next((each for each in self._held if each.wants(hit)), None)
            if held is not None:
                return held.take(hit, line)
        with line:
            line.sendall(b"go\n")

"""The floor (bench/programs/floor.c) with the interface of the brokers: the system calls of a broker without a broker.

It answers only the raw client. Topics need not be created: there is one log, and a topic other than the last one
starts it again.
"""

import os

from bench.peers.measure import c_program
from tests.support.processes.server import Server

_READY = "floor ready "


class FloorProcess(Server):
    """One log on a port that it chooses."""

    def command(self) -> list[str]:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        return [str(c_program("floor")), "--data-dir", str(self.data_dir)]

    def is_ready_line(self, line: str) -> bool:
        return line.startswith(_READY)

    def port_of(self, ready_line: str) -> int:
        return int(ready_line.rpartition(":")[2])

    def empty(self) -> None:
        """Truncate the log, so that starting it again costs nothing."""
        os.truncate(self.data_dir / "floor.log", 0)

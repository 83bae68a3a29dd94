"""Barnabas in its own process: `.venv/bin/barnabas serve` as a user starts it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.ports import unused_port
from tests.support.processes.server import ROOT, Server

READY = "barnabas ready "


class BrokerProcess(Server):
    """A broker over `data_dir` on a free port.

    descriptor_limit: the hard `ulimit -n` that the process gets, if any; flags: further flags of `barnabas serve`.
    """

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, object] | None = None,
        *,
        descriptor_limit: int | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        super().__init__(data_dir, settings)
        self.port = unused_port()  # no other process gets it between a kill and the next start
        self._descriptor_limit = descriptor_limit
        self._flags = flags

    def command(self) -> list[str]:
        program = [str(ROOT / ".venv" / "bin" / "barnabas"), "serve"]
        if self._descriptor_limit is not None:
            program = ["sh", "-c", f'ulimit -n {self._descriptor_limit}; exec "$@"', "sh", *program]
        settings = [word for key, value in self.settings.items() for word in ("--set", f"{key}={value}")]
        place = [] if "log.dirs" in self.settings else ["--data-dir", str(self.data_dir)]
        port = [] if "listeners" in self.settings else ["--port", str(self.port)]
        return [*program, *port, *place, *settings, *self._flags]

    def is_ready_line(self, line: str) -> bool:
        return line.startswith(READY)

    def port_of(self, ready_line: str) -> int:
        address = ready_line.removeprefix(READY).split(" ")[0].split(",")[0]  # the first listener
        return int(address.rpartition(":")[2])

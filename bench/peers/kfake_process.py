"""kfake, a broker in memory of franz-go (bench/programs/kfake), with the interface of the others; it stores nothing."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from bench.peers.measure import PROGRAMS, ROOT
from tests.support.processes.server import Server

_SOURCE = PROGRAMS / "kfake"
_READY = "kfake ready "


class KfakeProcess(Server):
    """One node on a port that it chooses."""

    def command(self) -> list[str]:
        return [str(_binary())]

    def is_ready_line(self, line: str) -> bool:
        return line.startswith(_READY)

    def port_of(self, ready_line: str) -> int:
        return int(ready_line.rpartition(":")[2])


def _binary() -> Path:
    """Return the program, built when its source or its lock has changed."""
    text = b"".join((_SOURCE / name).read_bytes() for name in ("main.go", "go.mod", "go.sum"))
    program = ROOT / ".cache" / "go" / hashlib.sha256(text).hexdigest()[:16] / "kfake"
    if not program.exists():
        if shutil.which("go") is None:
            raise RuntimeError("kfake is built with Go 1.26 or later: install it (https://go.dev/dl)")
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-mod=readonly", "-trimpath", "-o", str(program), "."], cwd=_SOURCE, check=True)
    return program

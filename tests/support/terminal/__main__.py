"""Record the session and write docs/terminal.svg: `scripts/record_terminal`.

The broker takes port 9092 and a directory that is removed at the end.
"""

import os
import socket
import sys
import tempfile
from pathlib import Path

from tests.support.source_tree import ROOT
from tests.support.terminal.drawing import draw
from tests.support.terminal.recording import record
from tests.support.terminal.session import CLOSING, SESSION

PICTURE = ROOT / "docs" / "terminal.svg"
PROGRAMS = ROOT / ".venv" / "bin"


def main() -> str | None:
    """None, or why there is no picture."""
    with socket.socket() as port:
        if port.connect_ex(("127.0.0.1", 9092)) == 0:
            return "port 9092 is in use: stop what listens there"
    with tempfile.TemporaryDirectory() as place:
        environment = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "HOME": place, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        lines = record(SESSION, CLOSING, Path(place), environment)
    PICTURE.write_text(draw(lines), encoding="utf-8")
    print("\n".join(line.text for line in lines))
    return None


if __name__ == "__main__":
    sys.exit(main())

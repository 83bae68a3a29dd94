"""The program in the README does what it says."""

import re
import subprocess
import sys

from tests.support.processes.server import ROOT, Server
from tests.support.waiting import PATIENCE_S


def test_the_readmes_program_writes_and_reads(server: Server) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    [program] = [each for each in programs if 'ADDRESS = "127.0.0.1:9092"' in each]
    here = program.replace("127.0.0.1:9092", server.address)
    done = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == sum(range(1000))

"""A disk that loses what was not synced, under real processes: a FUSE file system in its own process.

What may be lost is what the disk in memory loses (tests/support/files/memory_survival.py), drawn from a seed. A process
that uses it is killed before the power is cut; `stand_still_after` lets that be in the middle of what it does.
"""

import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.support.files.memory_survival import Survival
from tests.support.lossy.__main__ import REFUSED
from tests.support.lossy.device import MountRefused, detach
from tests.support.processes.server import ROOT, Lines

_PATIENCE_S = 30.0


class LossyDisk:
    """Mounted at `place`, an empty directory, while it is a context. MountRefused where FUSE is not to be had."""

    def __init__(self, place: Path, seed: int = 0, *, is_journaled: bool = False) -> None:
        """`is_journaled`: a sync of any file makes all names safe that were changed before, as ext4's or XFS's does."""
        self.place = place
        self.cuts = 0
        self.lost = 0
        """Changes that were not safe when the power was cut. By chance some of them survived."""
        how = ["--journaled"] if is_journaled else []
        self._command = [sys.executable, "-m", "tests.support.lossy", str(place), str(seed), *how]
        self._sent = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that it outlives ^C until all is put away
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._answers, self._problems = Lines(self._process.stdout), Lines(self._process.stderr)
        if self._answers.first(lambda line: line.startswith("mounted"), _PATIENCE_S) is None:
            self._problems.join()
            problem = self._problems.text()
            status = self._close()
            raise MountRefused(problem) if status == REFUSED else AssertionError(problem)
        return self

    def __exit__(self, *_: object) -> None:
        status = self._close()
        if status != 0:
            detach(str(self.place))
            raise AssertionError(f"the file system ended with {status}: {self._problems.text()}")

    def stand_still_after(self, changes: int) -> None:
        """Let so many changes be made from now on, and then no call return that would make another one."""
        self._ask(f"arm {changes}", "armed")

    def go_on(self) -> None:
        """It need not stand still after all. Too late if it stands already."""
        self._ask("disarm", "disarmed")

    def is_standing(self, timeout_s: float) -> bool:
        """Whether it stands still, or does so in time."""
        count = self.cuts

        def wanted(line: str) -> bool:
            return line.startswith(f"standing {count} ")

        return self._answers.first(wanted, timeout_s) is not None

    def cut_power(self, survival: Survival, *, torn: bool = False) -> None:
        """Lose what was not synced, or some of it, and mount the rest."""
        self.cuts += 1
        found = self._ask(f"cut {survival}{' torn' if torn else ''}", "mounted")
        self.lost += int(found.split()[2])

    def _ask(self, line: str, answer: str) -> str:
        assert self._process.stdin is not None
        self._sent += 1
        number = self._sent
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        found = self._answers.first(lambda line: line.split()[:2] == [answer, str(number)], _PATIENCE_S)
        assert found is not None, f"{line} is not answered: {self._problems.text()}"
        return found

    def _close(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(_PATIENCE_S)
        finally:
            self._process.kill()
            self._answers.join()
            self._problems.join()

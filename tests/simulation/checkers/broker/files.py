"""Rules about the files that a clean stop leaves: every index, snapshot and checkpoint is what the log says."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from barnabas.broker.cli.log.verify import as_line, partitions, verify
from barnabas.logfiles.segment_check import CheckTally
from tests.simulation.world.disk import Disk

_LOCK = "/.lock"  # it is given back with its file
_IN_MEMORY = "/dev/shm"


def unsound_files(disk: Disk) -> Iterator[str]:
    """What `barnabas log verify` finds, notes included: nobody was killed."""
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if os.path.isdir(_IN_MEMORY) else None) as directory:
        root = Path(directory) / "data"
        disk.write_to("/data", str(root))
        for finding in verify(root, partitions(root), CheckTally(), lambda: None):
            yield as_line(finding).replace(directory, "")


def open_files(disk: Disk) -> Iterator[str]:
    """No file is open when the broker is gone."""
    for path, count in sorted(disk.open_paths.items()):
        if count and not path.endswith(_LOCK):
            yield f"{path} is open {count} times"

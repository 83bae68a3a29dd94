"""`barnabas-clock-ahead` in the root of a data directory: how far the clock that clients are told was moved ahead.

A file of ours, which Apache Kafka ignores: milliseconds in decimal digits, and a line end. It is on the disk before the
clock shows a time that is further ahead, so that after a kill, too, no record was stamped later than the next run's
clock. Whoever wants the machine's time again begins a new data directory, or removes the file and what it was about.
"""

from __future__ import annotations

from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError

FILE_NAME = "barnabas-clock-ahead"
_DIGITS_MAX = 15


def read(root: Directory) -> int:
    """Milliseconds; 0 without the file. StorageError where it is not what this version writes."""
    data = root.read(FILE_NAME)
    if data is None:
        return 0
    text = data.strip()
    if not text.isdigit() or len(text) > _DIGITS_MAX:
        why = "this does not say how far the clock was moved ahead; once the file is removed it is the machine's again"
        raise StorageError(root.path_of(FILE_NAME), why)
    return int(text)


def write(root: Directory, ahead_ms: int) -> None:
    """Put it in the place of what is there, synced; 0 or less removes it. StorageError."""
    if ahead_ms > 0:
        root.write_atomically(FILE_NAME, b"%d\n" % ahead_ms)
    elif root.exists(FILE_NAME):
        root.remove(FILE_NAME)
        root.sync()

"""`barnabas-clock-ahead` in the root of a data directory: how far the broker's clock was moved ahead.

A file of Barnabas, which Apache Kafka ignores: milliseconds in decimal digits, and a line end. It is on the disk before
the clock shows a time that is further ahead, so that even after a kill no record has a later timestamp than the next
run's clock. To return to the machine's time, use a new data directory, or remove the file and the affected data.
"""

from __future__ import annotations

from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError

FILE_NAME = "barnabas-clock-ahead"
_DIGITS_MAX = 15


def read(root: Directory) -> int:
    """Return the milliseconds; 0 without the file. Raise StorageError if its content is invalid."""
    data = root.read(FILE_NAME)
    if data is None:
        return 0
    text = data.strip()
    if not text.isdigit() or len(text) > _DIGITS_MAX:
        why = (
            "this is not the distance that the clock was moved ahead; without the file the clock is the machine's again"
        )
        raise StorageError(root.path_of(FILE_NAME), why)
    return int(text)


def write(root: Directory, ahead_ms: int) -> None:
    """Replace the file, synced; 0 or less removes it. Raises StorageError."""
    if ahead_ms > 0:
        root.write_atomically(FILE_NAME, b"%d\n" % ahead_ms)
    elif root.exists(FILE_NAME):
        root.remove(FILE_NAME)
        root.sync()

"""When a data directory is full, when it is not any more, and how often to check: pure decisions about byte counts.

Knows what a file system reports of its free space (`Volume`) and the setting `barnabas.log.dir.reserved.bytes`. The
reserve is the space that producers leave to everything else: the catalogue, coordinators, markers, indexes. On a small
file system it is a twentieth of the size. A directory stops being full when twice the reserve is free, so that it is
not full again at once. `disk_space_watch.py` refuses producers meanwhile.
"""

from __future__ import annotations

from typing import Final

from barnabas.storage.disk.files import Volume

LOOK_MS: Final = 1_000
LOOK_OFTEN_MS: Final = 20
LOOK_WHILE_FULL_MS: Final = 200
WRITTEN_BYTES_PER_MS: Final = 1 << 20
"""An upper bound of the producers' write rate: checks are timed so that the reserve cannot be used up between two."""
RESERVE_SHARE: Final = 20
LEFT_BYTES: Final = 1 << 20
"""The least free space at which a directory stops being full, whatever the reserve; less on a small file system."""
RELAPSE_MS: Final = 60_000
WAIT_MIN_MS: Final = 1_000
WAIT_MAX_MS: Final = 32_000


def reserve_of(volume: Volume, wanted_bytes: int) -> int:
    """Return how many bytes producers leave free. wanted_bytes: the setting."""
    return min(wanted_bytes, volume.total_bytes // RESERVE_SHARE)


def is_used_up(volume: Volume, reserve_bytes: int) -> bool:
    """Return whether a directory that was not full is full now."""
    return volume.usable_bytes < reserve_bytes


def is_enough(volume: Volume, reserve_bytes: int) -> bool:
    """Return whether a full directory has enough free space again."""
    least = min(LEFT_BYTES, volume.total_bytes // RESERVE_SHARE)
    return volume.usable_bytes >= max(2 * reserve_bytes, least)


def look_after_ms(volume: Volume, reserve_bytes: int) -> int:
    """Return the time until the next check of a directory that is not full, in milliseconds."""
    until_used_up_ms = (volume.usable_bytes - reserve_bytes) // WRITTEN_BYTES_PER_MS
    return max(LOOK_OFTEN_MS, min(LOOK_MS, until_used_up_ms))


def wait_ms(since_left_ms: float | None, waited_ms: int) -> int:
    """Return how long a directory stays full at least. since_left_ms: since it was last full; None if it never was.

    Normally 0. If it is full again soon, the file system reports free space that cannot be used, because of a quota or
    a lack of inodes: then each wait is twice as long as the one before (`waited_ms`).
    """
    if since_left_ms is None or since_left_ms > RELAPSE_MS:
        return 0
    return min(WAIT_MAX_MS, max(WAIT_MIN_MS, 2 * waited_ms))


def for_producers(volume: Volume, reserve_bytes: int, *, is_full: bool) -> Volume:
    """Return the free space that is reported to clients: the space that they can fill."""
    return volume._replace(usable_bytes=0 if is_full else max(0, volume.usable_bytes - reserve_bytes))

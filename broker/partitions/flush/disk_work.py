"""Work on the disk that runs in a thread: its failure comes back as a value, for the loop to act on and to log."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.storage.errors import StorageError


def storage_failure(run: Callable[[], None]) -> StorageError | None:
    """Do it, and say how the disk failed, if it did. What else is raised is a mistake of ours."""
    try:
        run()
    except StorageError as error:
        return error
    return None

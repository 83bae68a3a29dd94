"""Disk work in a thread: its failure is returned as a value, for the event loop to handle and log."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.storage.errors import StorageError


def storage_failure(run: Callable[[], None]) -> StorageError | None:
    """Run a function and return the StorageError it raised, if it did. Any other exception is a bug, and propagates."""
    try:
        run()
    except StorageError as error:
        return error
    return None

"""Removes deleted files from the disk beside the event loop: freeing the space of a large file takes long.

Decides when, and in which thread; storage decides which files, and in which order (storage/disk/deletion.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.partitions.flush.disk_work import storage_failure
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from barnabas.broker.runtime.clock import Clock
    from barnabas.storage.directories.log_directories import LogDirectories
    from barnabas.storage.disk.deletion import Removing

_log = logger("storage")


class FileRemovals:
    """Removes the files that are due in the data directories of one broker: one after the other, in a thread."""

    def __init__(
        self, directory: LogDirectories, clock: Clock, loop: AbstractEventLoop, when_over: Callable[[], None]
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._loop = loop
        self._when_over = when_over
        self._removing: Removing | None = None
        self._is_requested_again = False
        self._is_stopped = False
        self.is_in_thread = False
        """Whether a thread is removing now, also after a stop."""

    @property
    def are_under_way(self) -> bool:
        """Whether something that was due is not removed yet."""
        return self._removing is not None

    def begin(self) -> None:
        """Remove the files that are due now, after the removal in progress."""
        if self._removing is not None:
            self._is_requested_again = True
        elif not self._is_stopped:
            self._is_requested_again = False
            self._removing = self._directory.removing(self._clock.now_ms())
            self._go_on()

    def stop(self) -> None:
        """Begin nothing more: the rest is left to the next start."""
        self._is_stopped = True

    def _go_on(self, failure: StorageError | None = None) -> None:
        removing = self._removing
        assert removing is not None
        try:
            call = next(removing) if failure is None else removing.throw(failure)
        except StopIteration:
            self._over()
            return
        except StorageError as error:
            _log.error(line("removal failed", reason=error))
            self._over()
            return
        except BaseException:
            self._over()
            raise
        self.is_in_thread = True
        self._loop.run_in_executor(None, storage_failure, call).add_done_callback(self._called)

    def _called(self, done: Future[StorageError | None]) -> None:
        self.is_in_thread = False
        if self._is_stopped:
            self._over()
        else:
            self._go_on(done.result())

    def _over(self) -> None:
        self._removing = None
        if self._is_requested_again:
            self.begin()
        if self._removing is None:
            self._when_over()

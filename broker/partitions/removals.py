"""What is out of use goes from the disk beside the event loop: to give back the room of a large file takes long.

Knows when, and which thread; what is removed, and in which order, is storage's (storage/disk/deletion.py).
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


class Removals:
    """Removes what is due in the data directories of one broker: one thing after the other, in a thread."""

    def __init__(
        self, directory: LogDirectories, clock: Clock, loop: AbstractEventLoop, when_over: Callable[[], None]
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._loop = loop
        self._when_over = when_over
        self._removing: Removing | None = None
        self._is_asked_again = False
        self._is_stopped = False
        self.is_in_thread = False
        """Whether a thread is at it now, after a stop, too."""

    @property
    def are_under_way(self) -> bool:
        """Whether something that was due is not removed yet."""
        return self._removing is not None

    def begin(self) -> None:
        """Remove what is due by now; after what is under way."""
        if self._removing is not None:
            self._is_asked_again = True
        elif not self._is_stopped:
            self._is_asked_again = False
            self._removing = self._directory.removing(self._clock.now_ms())
            self._go_on()

    def stop(self) -> None:
        """Begin nothing more: what is left is for the next start."""
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
        if self._is_asked_again:
            self.begin()
        if self._removing is None:
            self._when_over()

"""The restart of a broker after the crash by a fault: which faults, the watching thread, and the result.

Knows when, not how: the owner starts it. While such a fault is armed a thread waits for the end of the broker's
process. The first of that thread and a call of the owner's starts the broker again, so that no call finds it ended,
and no client waits for a call.

Invariants: all of it happens under the owner's lock; a broker that was stopped or killed by its owner, or that ended in
any other way, is not started again; where the start fails it is not retried, and the failure is reported.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from barnabas.embedded.crashes import Crash, crash_in
from barnabas.embedded.errors import BarnabasError

if TYPE_CHECKING:
    from barnabas.embedded.running import Running

_LOOK_S = 0.05
"""The interval of the checks where the system does not report a process's end."""


class Revival:
    """The restarts of one owner's broker."""

    def __init__(self, turn: threading.RLock, start: Callable[[], None]) -> None:
        """Watch nothing yet. turn: the owner's lock. start: starts the broker again, with its data and port."""
        self._news = threading.Condition(turn)
        self._start = start
        self._running: Running | None = None  # the broker that may be started again
        self._is_watched = False
        self._faults: set[str] = set()
        self._crash: Crash | None = None
        self._failure: BarnabasError | None = None
        self._is_failure_raised = True

    def wants(self, running: Running, faults: Collection[str], *, restart: bool) -> None:
        """Register faults that were armed in this broker, and whether it is started again if one of them crashes it."""
        with self._news:
            self._faults = self._faults | set(faults) if restart else self._faults.difference(faults)
            if restart:
                self._running, self._crash = running, None
                if not self._is_watched:
                    self._is_watched = True
                    # Not waited for at the end: the end of the broker ends it, too.
                    threading.Thread(target=self._watch, args=(running,), name="barnabas-revival", daemon=True).start()

    def forget(self) -> None:
        """Stop watching: the owner ends the broker, or starts it again."""
        self._running, self._is_watched, self._faults = None, False, set()
        self._news.notify_all()

    def begin_anew(self) -> None:
        """Clear an earlier failure: the owner starts the broker."""
        self._failure, self._is_failure_raised = None, True

    def revived(self, running: Running) -> Crash | None:
        """Start the broker again if one of those faults crashed it; return that crash, else None. Raises BarnabasError
        where the start failed, now or before.
        """
        if running is self._running and not running.is_running:
            crash = crash_in(running.logs())
            if crash is not None and crash.fault in self._faults:
                self._revive(crash)
                self.raise_failure()
                return crash
            self.forget()
        self.raise_failure()
        return None

    def raise_failure(self) -> None:
        """Raise BarnabasError, if the last start failed."""
        if self._failure is not None:
            self._is_failure_raised = True
            raise self._failure

    def raise_failure_once(self) -> None:
        """Raise BarnabasError, if the last start failed and no call has raised it yet."""
        failure, is_raised = self._failure, self._is_failure_raised
        self.begin_anew()
        if failure is not None and not is_raised:
            raise failure

    def wait(self, timeout_s: float) -> Crash | None:
        """Wait for a crash after which the broker is started again, and return it; None if there is no such crash."""
        with self._news:
            self._news.wait_for(lambda: self._crash is not None or self._running is None, timeout_s)
            crash, self._crash = self._crash, None
            if crash is not None:
                self.raise_failure()
            return crash

    @property
    def is_awaited(self) -> bool:
        """Whether such a crash may come, or has come."""
        return self._running is not None or self._crash is not None

    def _revive(self, crash: Crash) -> None:
        self.forget()
        try:
            self._start()
        except BarnabasError as error:
            sentence = (
                f"fault {crash.fault} crashed the broker at {crash.point}, and it could not be started again: {error}"
            )
            self._failure, self._is_failure_raised = BarnabasError(sentence), False
        self._crash = crash
        self._news.notify_all()

    def _watch(self, running: Running) -> None:
        """Watch in a thread, until this broker has ended."""
        with self._news:
            watch = running.end_descriptor() if self._running is running else None
        if watch is not None:
            ended = select.poll()
            ended.register(watch, select.POLLIN)
            ended.poll()
            os.close(watch)
        with self._news:
            while self._running is running:
                if not running.is_running:
                    try:
                        self.revived(running)
                    except BarnabasError:
                        self._is_failure_raised = False  # the next call raises it
                    return
                self._news.wait(_LOOK_S)

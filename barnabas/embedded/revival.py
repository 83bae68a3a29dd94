"""Which faults a broker is started again after, where they crash it; who watches for that, and how it went.

Knows when, not how: the owner starts it. While such a fault is armed a thread waits for the end of the broker's
process. Whoever comes first, that thread or a call of the owner's, has the broker started again, so that no call finds
it gone, and no client waits for a call.

Invariants: all of it happens under the owner's lock; a broker that was stopped or killed by its owner, or that ended in
any other way, is not started again; where the start fails it is not tried again, and the failure is told.
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
"""So often is looked where the system does not tell of a process's end."""


class Revival:
    """Of one owner."""

    def __init__(self, turn: threading.RLock, start: Callable[[], None]) -> None:
        """turn: the owner's lock. start: the broker again, on its data and at its port; BarnabasError."""
        self._news = threading.Condition(turn)
        self._start = start
        self._running: Running | None = None  # the one that may be started again
        self._is_watched = False
        self._faults: set[str] = set()
        self._crash: Crash | None = None
        self._failure: BarnabasError | None = None
        self._is_failure_told = True

    def wants(self, running: Running, faults: Collection[str], *, restart: bool) -> None:
        """Faults were armed in this broker, and it is started again if one of them crashes it, or not."""
        with self._news:
            self._faults = self._faults | set(faults) if restart else self._faults.difference(faults)
            if restart:
                self._running, self._crash = running, None
                if not self._is_watched:
                    self._is_watched = True
                    # Not waited for at the end: the end of the broker ends it, too.
                    threading.Thread(target=self._watch, args=(running,), name="barnabas-revival", daemon=True).start()

    def forget(self) -> None:
        """The owner ends the broker, or starts it anew: what was is over."""
        self._running, self._is_watched, self._faults = None, False, set()
        self._news.notify_all()

    def begin_anew(self) -> None:
        """The owner starts it: what failed before does not count any more."""
        self._failure, self._is_failure_told = None, True

    def revived(self, running: Running) -> Crash | None:
        """The fault that crashed this broker, if it was one of those, and the broker has been started again. Raises
        BarnabasError where that failed, now or before."""
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
        """BarnabasError, if the last start failed."""
        if self._failure is not None:
            self._is_failure_told = True
            raise self._failure

    def raise_failure_once(self) -> None:
        """As `raise_failure`, unless somebody was told."""
        failure, is_told = self._failure, self._is_failure_told
        self.begin_anew()
        if failure is not None and not is_told:
            raise failure

    def wait(self, timeout_s: float) -> Crash | None:
        """The crash that the broker was started again after, waited for; None where none comes that it would be."""
        with self._news:
            self._news.wait_for(lambda: self._crash is not None or self._running is None, timeout_s)
            crash, self._crash = self._crash, None
            if crash is not None:
                self.raise_failure()
            return crash

    @property
    def is_awaited(self) -> bool:
        """Whether there is such a crash to wait for, or was one."""
        return self._running is not None or self._crash is not None

    def _revive(self, crash: Crash) -> None:
        self.forget()
        try:
            self._start()
        except BarnabasError as error:
            said = (
                f"fault {crash.fault} crashed the broker at {crash.point}, and it could not be started again: {error}"
            )
            self._failure, self._is_failure_told = BarnabasError(said), False
        self._crash = crash
        self._news.notify_all()

    def _watch(self, running: Running) -> None:
        """In a thread of its own, until this broker has ended."""
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
                        self._is_failure_told = False  # it is told by the next call
                    return
                self._news.wait(_LOOK_S)

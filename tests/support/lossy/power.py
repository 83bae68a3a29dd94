"""Power cuts for the broker of a play, at a call that is drawn: while it runs, and while it starts again."""

import os
import random
import signal
import threading
from contextlib import suppress

from tests.support.files.memory_survival import Survival
from tests.support.lossy.disk import LossyDisk
from tests.support.processes.server import Server

_SURVIVALS: tuple[Survival, ...] = ("some", "scattered", "nothing")
_CHANGES_MAX = 60
_AT_A_CALL, _AT_A_START, _TORN = 0.7, 0.4, 0.3
_LOOK_AGAIN_S = 0.1
_IDLE_S = 1.0
"""After so long without enough changes the power is cut all the same."""


class PowerCut:
    """How the broker of a play dies (tests/support/histories/play.py): `server` has its data on `disk`."""

    all_survives = False

    def __init__(self, server: Server, disk: LossyDisk, dice: random.Random) -> None:
        self._server, self._disk, self._dice = server, disk, dice
        self.cuts_at_calls = 0
        self.cuts_at_starts = 0

    def die(self) -> None:
        """Cut the power: mostly before a change that the server is about to make, and it gets no further then."""
        if self._dice.random() < _AT_A_CALL:
            self._disk.stand_still_after(self._dice.randint(0, _CHANGES_MAX))
            self.cuts_at_calls += self._disk.is_standing(_IDLE_S)
        self._cut()
        self._server.kill()

    def come_back(self) -> None:
        """Start it; now and then the power is cut in the middle of that, and it is started again."""
        if self._dice.random() < _AT_A_START:
            self._start_in_vain(self._dice.randint(0, _CHANGES_MAX))
        else:
            self._server.start()

    def _start_in_vain(self, changes: int) -> None:
        """If it is up before there are so many changes, it is up."""
        cuts = self._disk.cuts
        self._disk.stand_still_after(changes)
        is_over = threading.Event()
        watching = threading.Thread(target=self._cut_when_it_stands, args=(is_over,))
        watching.start()
        try:
            self._server.start()
        except AssertionError:
            if self._disk.cuts == cuts:
                raise
        finally:
            is_over.set()
            watching.join()
        self._disk.go_on()
        if self._disk.cuts == cuts and self._disk.is_standing(0):  # at the last moment
            self._cut()
        if self._disk.cuts > cuts:
            self.cuts_at_starts += 1
            self._server.kill()
            self._server.start()

    def _cut_when_it_stands(self, is_over: threading.Event) -> None:
        while not is_over.is_set():
            if self._disk.is_standing(_LOOK_AGAIN_S):
                self._cut()
                return

    def _cut(self) -> None:
        with suppress(ProcessLookupError):  # it has already ended
            os.kill(self._server.pid, signal.SIGKILL)
        self._disk.cut_power(self._dice.choice(_SURVIVALS), torn=self._dice.random() < _TORN)

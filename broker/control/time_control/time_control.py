"""Operations on the clock of a running broker: stop it, run it, move it ahead. Each change is logged.

Knows the clock, when a broker is settled, and the file that stores how far the clock is ahead; not the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.control.time_control import clock_offset_file
from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.settling import Unsettled
from barnabas.broker.control.time_control.time_text import moment_text
from barnabas.broker.runtime.events.kinds import CLOCK_CHANGED
from barnabas.broker.runtime.log_lines import line, logger

if TYPE_CHECKING:
    from barnabas.broker.control.time_control.movable_clock import MovableClock
    from barnabas.broker.control.time_control.settling import Settling
    from barnabas.broker.runtime.events import Events
    from barnabas.storage.disk.directory import Directory

_log = logger("control")


class GaveUp(ClockRefused):
    """The clock did not reach the requested time, or can no longer be moved."""


class ClockState(NamedTuple):
    """The state of a clock. state: running, frozen or advancing. ahead_ms: ahead of the machine's clock."""

    state: str
    now_ms: int
    now: str
    ahead_ms: int


class TimeControl:
    """The clock control of one broker. All operations raise ClockRefused, with a sentence, or StorageError."""

    def __init__(self, clock: MovableClock, settling: Settling, root: Directory, events: Events) -> None:
        """Control the clock. root: the directory of the file that stores how far the clock is ahead."""
        self._clock = clock
        self._settling = settling
        self._root = root
        self._events = events
        self._is_closed = False

    @property
    def state(self) -> ClockState:
        """The present state of the clock."""
        clock = self._clock
        state = "advancing" if clock.is_moving else "frozen" if clock.is_frozen else "running"
        now_ms = clock.now_ms()
        return ClockState(state, now_ms, moment_text(now_ms), clock.ahead_ms)

    def freeze(self) -> ClockState:
        """Stop the clock."""
        self._check_open()
        self._clock.freeze()
        return self._changed("clock frozen")

    def run(self) -> ClockState:
        """Run the clock from its present time on."""
        self._check_open()
        self._clock.run()
        return self._changed("clock runs")

    async def advance(self, by_ms: float) -> ClockState:
        """Move the clock ahead; return when everything that fell due is done. It then stands or runs as before."""
        self._check_open()
        try:
            await self._clock.advance(by_ms, self._settled, begins=self._begins, ends=self._settling.look_again)
        except Unsettled as unsettled:
            raise self._given_up(unsettled) from unsettled
        return self._changed("clock advanced", by_ms=round(by_ms))

    async def at(self, wall_ms: int) -> ClockState:
        """Stop the clock at a future time, in ms since 1970, once everything that fell due by then is done."""
        self._check_open()
        if wall_ms < self._clock.now_ms():
            raise ClockRefused(f"the clock does not go back; it shows {self.state.now}")
        try:
            await self._clock.advance_to(wall_ms, self._settled, begins=self._begins, ends=self._settling.look_again)
        except Unsettled as unsettled:
            raise self._given_up(unsettled) from unsettled
        return self._changed("clock frozen")

    def close(self) -> None:
        """Close, because the broker stops. A clean stop stores how far the clock is ahead. Raises StorageError."""
        self._is_closed = True
        clock_offset_file.write(self._root, self._clock.ahead_ms)

    def _begins(self, ahead_ms: int) -> None:
        self._settling.flush_due()
        if ahead_ms > 0:
            clock_offset_file.write(self._root, ahead_ms)

    async def _settled(self) -> None:
        self._check_open()
        await self._settling()

    def _check_open(self) -> None:
        if self._is_closed:
            raise GaveUp("the broker stops")

    def _changed(self, event: str, **facts: int) -> ClockState:
        state = self.state
        _log.info(line(event, **facts, now=state.now, ahead_ms=state.ahead_ms))
        if self._events.is_on:
            self._events.emit(CLOCK_CHANGED, {"state": state.state, "ahead_ms": state.ahead_ms})
        return state

    def _given_up(self, unsettled: Unsettled) -> GaveUp:
        self._settling.answer_parked()
        now = self.state.now
        _log.warning(line("clock not advanced to the end", reason=unsettled, now=now))
        return GaveUp(f"the clock reached {now} and no further: {unsettled}")

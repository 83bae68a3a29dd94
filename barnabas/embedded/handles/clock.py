"""The clock of an embedded broker, for its owner: stopped, moved ahead, released."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

ANSWER_TIMEOUT_S = 600.0
"""A move of the clock may take its time; the broker cancels a move that cannot continue after a minute."""


class ClockHandle:
    """The broker's clock: timestamps, transaction timeouts, sessions, retention. Methods raise BarnabasError."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def __repr__(self) -> str:
        return "<the clock of a Barnabas>"

    @property
    def now(self) -> datetime:
        """The time of the clock, in UTC, to the millisecond."""
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=self._ask("now_ms"))

    @property
    def is_frozen(self) -> bool:
        """Whether it stands still."""
        return bool(self._ask("clock_state") == "frozen")

    def freeze(self) -> None:
        """Stop the clock until `run`; `advance` moves it meanwhile."""
        self._ask("clock_freeze")

    def run(self) -> None:
        """Let the clock run again from its present time."""
        self._ask("clock_run")

    def advance(self, by: str | float | timedelta) -> None:
        """Move the clock ahead by `15m`, `7d`, seconds or a timedelta; return when all work due by then is done."""
        self._ask("clock_advance", _by(by), timeout_s=ANSWER_TIMEOUT_S)

    def at(self, moment: str | datetime) -> None:
        """Move the clock ahead to a time and stop it there: `2026-11-24T13:20:00Z`, or a datetime with its zone."""
        if isinstance(moment, datetime):
            if moment.tzinfo is None:
                raise ValueError(f"{moment!r} has no time zone: write datetime(…, tzinfo=timezone.utc)")
            moment = moment.astimezone(UTC).isoformat()
        elif not isinstance(moment, str):
            raise TypeError(f"a moment must be a text or a datetime, not {moment!r}")
        self._ask("clock_at", moment, timeout_s=ANSWER_TIMEOUT_S)


def _by(by: str | float | timedelta) -> str | int:
    """Return a text for the broker to parse, or milliseconds."""
    if isinstance(by, str):
        return by
    if isinstance(by, timedelta):
        return round(by / timedelta(milliseconds=1))
    if isinstance(by, bool) or not isinstance(by, int | float):
        raise TypeError(f"a duration must be a text such as '15m', seconds or a timedelta, not {by!r}")
    if not abs(by) < 1e12:
        raise ValueError(f"{by!r} seconds are not a duration")
    return round(by * 1000)

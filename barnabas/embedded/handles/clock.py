"""The clock of an embedded broker, as its owner holds it: stopped, moved ahead, let go on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

ANSWER_TIMEOUT_S = 600.0
"""A move of the clock may take its time; one that cannot go on is given up by the broker, after a minute."""


class Clock:
    """What the broker goes by: timestamps, transaction timeouts, sessions, retention. BarnabasError says why not."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def __repr__(self) -> str:
        return "<the clock of a Barnabas>"

    @property
    def now(self) -> datetime:
        """What it shows, in UTC, to the millisecond."""
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=self._ask("now_ms"))

    @property
    def is_frozen(self) -> bool:
        """Whether it stands still."""
        return bool(self._ask("clock_state") == "frozen")

    def freeze(self) -> None:
        """Have it stand still until `run`; `advance` moves it meanwhile."""
        self._ask("clock_freeze")

    def run(self) -> None:
        """Have it go on from where it stands."""
        self._ask("clock_run")

    def advance(self, by: str | float | timedelta) -> None:
        """Move it ahead by `15m`, `7d`, seconds or a timedelta; returns when all that fell due is done."""
        self._ask("clock_advance", _by(by), timeout_s=ANSWER_TIMEOUT_S)

    def at(self, moment: str | datetime) -> None:
        """Move it ahead to a moment, and have it stand there: `2026-11-24T13:20:00Z`, or a datetime with its zone."""
        if isinstance(moment, datetime):
            if moment.tzinfo is None:
                raise ValueError(f"{moment!r} says no time zone: datetime(…, tzinfo=timezone.utc)")
            moment = moment.astimezone(UTC).isoformat()
        elif not isinstance(moment, str):
            raise TypeError(f"a moment is a text or a datetime, not {moment!r}")
        self._ask("clock_at", moment, timeout_s=ANSWER_TIMEOUT_S)


def _by(by: str | float | timedelta) -> str | int:
    """A text for the broker to read, or milliseconds."""
    if isinstance(by, str):
        return by
    if isinstance(by, timedelta):
        return round(by / timedelta(milliseconds=1))
    if isinstance(by, bool) or not isinstance(by, int | float):
        raise TypeError(f"a length of time is a text such as '15m', seconds or a timedelta, not {by!r}")
    if not abs(by) < 1e12:
        raise ValueError(f"{by!r} seconds are no length of time")
    return round(by * 1000)

"""A clock for the client that a test moves: a sleep moves it."""


class StandingClock:
    """Time stands still but for `sleep`."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self.slept_s = 0.0

    def now_ms(self) -> int:
        return self._start_ms + int(self.slept_s * 1000)

    def monotonic(self) -> float:
        return self.slept_s

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds

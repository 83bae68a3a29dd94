"""Requests that a broker which lives was given, and did not answer for as long as a client waits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Unanswered:
    """One of them. Its connection was there all the time, and no answer was on its way."""

    client: str
    api: str
    began_us: int
    arrived_us: int
    """When its last byte had reached the broker."""
    ended_us: int
    """When the client gave up."""
    wait_ms: int
    """How long the request itself allows the broker to wait."""

    @property
    def held_ms(self) -> int:
        """For how long the broker had it."""
        return (self.ended_us - self.arrived_us) // 1000

    def line(self) -> str:
        return f"{self.client} {self.api}: no answer, {self.held_ms} ms after it had arrived"

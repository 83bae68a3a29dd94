"""A broker that runs, wherever it does: what `ChildProcess` and `inside.thread.BrokerThread` have in common.

One that has ended stays as it is; a new one goes on in its home. Not for two threads at a time: the owner sees to that.
"""

from __future__ import annotations

from typing import Any, Protocol

ANSWER_TIMEOUT_S = 60.0
LOG_NAME = "broker.log"
"""In a broker's home."""


class Running(Protocol):
    """home: the directory of its log and, without one given, its data. warnings: about its configuration.

    ports: of each node.
    """

    home: str | None
    pid: int
    ports: list[int]
    data_dir: str
    warnings: list[str]

    @property
    def is_running(self) -> bool:
        """Whether it is there still."""

    def wait_ended(self, timeout_s: float) -> bool:
        """Whether it has ended, by itself, within this time."""

    def end_descriptor(self) -> int | None:
        """A descriptor of one's own that can be read from once it has ended; None where the system has none."""

    def ask(self, name: str, *arguments: object, timeout_s: float = ...) -> Any:
        """Its answer to one of the questions of inside/host.py. BarnabasError, NotRunning."""

    def stop(self) -> None:
        """A clean stop. BarnabasError where the data could not be written."""

    def kill(self) -> None:
        """An end without any care, unless it has ended. Returns once all it had is free again."""

    def logs(self) -> str:
        """What it and those before it in the same home wrote."""

    def discard(self) -> None:
        """Remove its home. Only once it has ended."""

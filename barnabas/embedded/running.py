"""A running broker, in a process or a thread: the interface of `ChildProcess` and `inside.thread.BrokerThread`.

An ended one stays so; a new one continues in its home. Not for two threads at a time: the owner takes care of that.
"""

from __future__ import annotations

from typing import Any, Protocol

ANSWER_TIMEOUT_S = 60.0
LOG_NAME = "broker.log"
"""The name of the log in a broker's home."""


class Running(Protocol):
    """A running broker. home: the directory of its log and, without one given, its data.

    warnings: about its configuration. ports: of each node.
    """

    home: str | None
    pid: int
    ports: list[int]
    data_dir: str
    warnings: list[str]

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""

    def wait_ended(self, timeout_s: float) -> bool:
        """Return whether it has ended, by itself, within this time."""

    def end_descriptor(self) -> int | None:
        """Return a new descriptor that can be read from once it has ended; None where the system has none."""

    def ask(self, name: str, *arguments: object, timeout_s: float = ...) -> Any:
        """Return its answer to one of the calls of inside/host.py. Raises BarnabasError, NotRunning."""

    def stop(self) -> None:
        """Stop cleanly. Raises BarnabasError where the data could not be written."""

    def kill(self) -> None:
        """End it at once, without finishing anything, unless it has ended. Return once all its resources are free."""

    def logs(self) -> str:
        """Return the log of this and earlier brokers in the same home."""

    def discard(self) -> None:
        """Remove its home. Only once it has ended."""

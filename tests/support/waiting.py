"""Waiting for what has no event to wait for: another process's state, seen only by asking again."""

import threading
import time
from collections.abc import Callable

PATIENCE_S = 180
"""For what Spark and other JVMs do in seconds on an idle machine. It passes only where something fails."""
_ASK_AGAIN_S = 0.02


def until(is_so: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Return once `is_so()` is true; an AssertionError when it is not within `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    never = threading.Event()
    while not is_so():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {is_so}"
        never.wait(_ASK_AGAIN_S)

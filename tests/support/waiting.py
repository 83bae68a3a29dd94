"""Waiting for what has no event to wait for: another process's state, seen only by asking again."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_S = 1200.0
"""For what Spark, other JVMs and other programs do in seconds on an idle machine. It passes only where one hangs."""
_ASK_AGAIN_S = 0.02


def until(is_so: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Return once `is_so()` is true; an AssertionError when it is not within `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    never = threading.Event()
    while not is_so():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {is_so}"
        never.wait(_ASK_AGAIN_S)


@contextmanager
def all_the_while(act: Callable[[], object], pause_s: float = _ASK_AGAIN_S) -> Iterator[None]:
    """Acts again and again, in a thread."""
    enough = threading.Event()

    def go_on() -> None:
        while not enough.wait(pause_s):
            act()

    acting = threading.Thread(target=go_on)
    acting.start()
    try:
        yield
    finally:
        enough.set()
        acting.join()

"""How fast the machine is while tests run, by the processor time of a fixed piece of work.

Budgets and limits of processor time hold for a machine that does the reference work in REFERENCE_MS. On a slower one,
or while other programs use its caches and its processors' threads, they are multiplied by `slowness`.
"""

from __future__ import annotations

import threading
from statistics import median
from time import thread_time

REFERENCE_MS = 1.5  # of CPython 3.14 on an idle machine of 2026
_ITEMS = 20_000
_SAMPLE_EVERY_S = 5.0
_WARM_ROUNDS = 3  # of one sample: the first has cold caches, after seconds in which others ran


def reference_work_ms() -> float:
    """Build and read a table, as code that handles long lists does; return the processor time that it took."""
    begun = thread_time()
    table = {number: (number, str(number)) for number in range(_ITEMS)}
    assert sum(number for number, _ in table.values()) == _ITEMS * (_ITEMS - 1) // 2
    return (thread_time() - begun) * 1000


def slowness(work_ms: list[float]) -> float:
    """Return how many times slower than the reference the machine was, at least 1, from what the work took."""
    return max(1.0, median(work_ms) / REFERENCE_MS)


class SpeedSamples:
    """Samples of the time that the reference work takes, taken by a thread while the context is open."""

    def __init__(self) -> None:
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._work_ms = [reference_work_ms()]

    def __enter__(self) -> SpeedSamples:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def slowness(self) -> float:
        """How many times slower than the reference the machine has been so far."""
        return slowness(self._work_ms.copy())

    def _measure(self) -> None:
        while not self._is_over.wait(_SAMPLE_EVERY_S):
            self._work_ms.append(min(reference_work_ms() for _ in range(_WARM_ROUNDS)))

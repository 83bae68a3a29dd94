"""How long a turn of the event loop may take in a test, on the machine that the test runs on.

A turn's limit is 20 ms of processor time on a machine that does the reference work in REFERENCE_MS. A slower machine,
or one whose caches other programs use at the same moment, has the same multiple of it; a faster one no less.
"""

from statistics import median
from time import thread_time

TURN_MS = 20
REFERENCE_MS = 1.5  # of CPython 3.14 on an idle machine of 2026
_ITEMS = 20_000
_SAMPLES = 7


def turn_limit_ms() -> float:
    """Return the limit of a turn, in ms of processor time, for this machine at this moment."""
    return limit_ms([reference_work_ms() for _ in range(_SAMPLES)])


def limit_ms(work_ms: list[float]) -> float:
    """Return the limit of a turn, in ms, for a machine where the reference work took these times."""
    return TURN_MS * max(1.0, median(work_ms) / REFERENCE_MS)


def reference_work_ms() -> float:
    """Build and read a table, as code that handles long lists does; return the processor time that it took."""
    begun = thread_time()
    table = {number: (number, str(number)) for number in range(_ITEMS)}
    assert sum(number for number, _ in table.values()) == _ITEMS * (_ITEMS - 1) // 2
    return (thread_time() - begun) * 1000

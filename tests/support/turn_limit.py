"""How long a turn of the event loop may take in a test, on the machine that the test runs on.

A turn's limit is 20 ms of processor time on the reference machine. A slower machine, or one whose caches other programs
use at the same moment, has the same multiple of it; a faster one no less.
"""

from scripts.testing.machine_speed import reference_work_ms, slowness

TURN_MS = 20
_SAMPLES = 7


def turn_limit_ms() -> float:
    """Return the limit of a turn, in ms of processor time, for this machine at this moment."""
    return TURN_MS * slowness([reference_work_ms() for _ in range(_SAMPLES)])

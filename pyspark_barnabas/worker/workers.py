"""Spark's Python workers, which are kept from task to task."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import lru_cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_KEPT_BYTES = 64 << 20
_MAPPED_FROM_BYTES = 32 << 20  # the most that glibc takes

_modules = 0  # how many there were when they were last taken out of the collector's sight


def keep_what_is_loaded() -> None:
    """Called when Spark asks a worker for something: what it asks for next costs about 19 ms of processor time less.

    Spark collects garbage after everything that a worker does, and so walks through the 80,000 objects that the modules
    of pyspark, Arrow, numpy and pandas consist of, to find that none of them is garbage. Here they are taken out of the
    collector's sight: again whenever more has been imported, as much is only with the first rows (Arrow imports pandas
    then), and never otherwise, as garbage that is there at this moment is kept, too. It is next to none, because Spark
    has just collected it.
    """
    global _modules
    if len(sys.modules) > _modules:
        gc.freeze()
        _modules = len(sys.modules)


@lru_cache(maxsize=1)
def keep_what_is_freed() -> bool:
    """Called when a task reads a topic: what it frees, about 64 MB, stays with the worker for what it needs next.

    By default glibc gives what is free above 8 MB or so back, and each of a task's answers and columns, some MB each,
    then costs the kernel new pages to be cleared: a third of what a task of 9,000 rows of 1 kB takes. Whether there is
    such a setting is returned; other libraries of C have none, and nothing is done.
    """
    try:
        setting = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # TypeError on Windows
        return False
    return bool(setting(_M_MMAP_THRESHOLD, _MAPPED_FROM_BYTES) and setting(_M_TRIM_THRESHOLD, _KEPT_BYTES))

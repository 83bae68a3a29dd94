"""Spark's Python workers, which are reused from task to task.

What a task changes in its worker was measured: `gc.freeze` of the loaded modules saves about 19 ms of processor time
after each task, and 64 MB that glibc does not return (`mallopt`) a third of a source task's with rows of 1 kB.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import lru_cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_KEPT_BYTES = 64 << 20
_MAPPED_FROM_BYTES = 32 << 20  # the most that glibc takes

_modules = 0  # how many there were when they were last frozen


def keep_what_is_loaded() -> None:
    """Freeze the loaded modules. Called when Spark uses a worker; its next use needs about 19 ms less processor time.

    Spark runs the garbage collector after each use of a worker, and walks through the 80,000 objects that the modules
    of pyspark, Arrow, numpy and pandas consist of, to find that none of them is garbage. Here they are frozen, so the
    collector ignores them: again whenever more has been imported, as some is only with the first rows (Arrow imports
    pandas then), and never otherwise, as garbage that exists at this moment is frozen, too. It is next to none: Spark
    has just collected it.
    """
    global _modules
    if len(sys.modules) > _modules:
        gc.freeze()
        _modules = len(sys.modules)


@lru_cache(maxsize=1)
def keep_what_is_freed() -> bool:
    """Keep freed memory, about 64 MB, in the worker for its next use. Called when a task reads a topic.

    By default glibc returns free memory above about 8 MB to the kernel, and each of a task's answers and columns, some
    MB each, then costs new pages that the kernel clears: a third of the time of a task of 9,000 rows of 1 kB. Return
    whether there is such a setting; other libraries of C have none, and nothing is done.
    """
    try:
        setting = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # TypeError on Windows
        return False
    return bool(setting(_M_MMAP_THRESHOLD, _MAPPED_FROM_BYTES) and setting(_M_TRIM_THRESHOLD, _KEPT_BYTES))

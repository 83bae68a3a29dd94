"""Features that Python 3.10 lacks, for the packages that run in Spark's Pythons: `protocol`, `client`, `logfiles` and
`pyspark_barnabas` (decision 0161). The broker itself needs Python 3.11.

tests/project/test_older_python.py finds a newer name anywhere else in them.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from enum import StrEnum
    from typing import dataclass_transform
else:
    from collections.abc import Callable
    from enum import Enum
    from typing import Any, TypeVar

    T = TypeVar("T")

    class StrEnum(str, Enum):
        """An enum as in Python 3.11: a member is written as its value."""

        __str__ = str.__str__
        __format__ = str.__format__

    def dataclass_transform(**_: Any) -> Callable[[T], T]:
        """Return a decorator that does nothing: type checkers read the branch above."""
        return lambda decorated: decorated


__all__ = ["StrEnum", "dataclass_transform", "noted"]


def noted(error: BaseException, note: str) -> bool:
    """Add a note to the error, to be printed under it; return whether that was possible."""
    if sys.version_info < (3, 11):
        return False
    error.add_note(note)
    return True

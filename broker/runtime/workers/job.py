"""A job: a small value that can be sent to a helper process, and the steps of its work.

Knows nothing of processes. The same steps run in a helper process on the real disk, and in slices of the event loop on
any other. A job uses nothing but its own fields and the files below its directory, and is decided about elsewhere:
it changes no name that the broker relies on while the job runs. It can be begun again from the start at any point.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias, TypeVar

from barnabas.storage.disk.files import Files

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Steps: TypeAlias = Generator[int | Callable[[], object], None, R]
"""Pauses after every bounded piece of work, well under a millisecond: with the bytes read and written since the pause
before, or with a function to be called before it continues, in any thread (a sync). An exception of the function is
raised where the steps paused. Returns the result for the broker, as a value that can be pickled.
"""


class Job(Protocol[R_co]):
    """A value that can be pickled; its class is in a module that imports storage and protocol only."""

    @property
    def directory(self) -> str:
        """The only directory in which it reads and writes: an absolute path. It exists."""

    def steps(self, files: Files) -> Steps[R_co]:
        """Return the steps of the work, from its start. They are closed on cancellation, and then close their files."""

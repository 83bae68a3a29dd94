"""What a test of the command line sees of a command."""

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str


Barnabas = Callable[..., Outcome]

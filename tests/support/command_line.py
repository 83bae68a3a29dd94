"""What a test of the command line sees of a command."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest


class Outcome(NamedTuple):
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str


Barnabas = Callable[..., Outcome]


def run_here(
    main: Callable[[Sequence[str]], int], capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Outcome]:
    """A program's `main` as a function of its arguments, run in this process, that returns what a shell would see."""

    def run(*arguments: str) -> Outcome:
        status = main(arguments)
        out, err = capsysbinary.readouterr()
        return Outcome(status, out.decode(), err.decode())

    return run

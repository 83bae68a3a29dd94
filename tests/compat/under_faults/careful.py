"""What a careful program does: a call that fails with a retriable error is made again."""

from collections.abc import Callable, Iterable
from typing import Any

GOES_ON, TRIES_AGAIN = "goes on", "tries again"
_TRIES = 5


def called(
    call: Callable[[], Any], kind: type[Exception], told: Callable[[Any], tuple[str, bool]], *, again: bool = True
) -> str:
    """How it goes. told: the name of an error of that kind, and whether the call may be made again."""
    outcome = GOES_ON
    for _ in range(_TRIES):
        try:
            call()
        except kind as failed:
            name, is_retriable = told(failed)
            if not (again and is_retriable):
                return name
            outcome = TRIES_AGAIN
        else:
            return outcome
    return "gives up"


def in_turn(outcomes: Iterable[str]) -> str:
    """How it goes with one call after the other, until one fails for good."""
    outcome = GOES_ON
    for told in outcomes:
        if told != GOES_ON:
            outcome = told
        if told not in (GOES_ON, TRIES_AGAIN):
            break
    return outcome

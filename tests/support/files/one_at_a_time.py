"""Methods that threads call one after another."""

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class TakesTurns(Protocol):
    """Has a lock that its methods hold."""

    turn: RLock


T = TypeVar("T", bound=TakesTurns)


def one_at_a_time(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """The method, run by one thread at a time of all those that call such methods with the same lock."""

    @wraps(method)
    def in_turn(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.turn:
            return method(self, *args, **kwargs)

    return in_turn

"""What a careful program does: a call that fails with a retriable error is made again."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

GOES_ON, TRIES_AGAIN = "goes on", "tries again"
Scenario = TypeVar("Scenario")
Played: TypeAlias = Callable[[str], str]
"""Of the broker's address: how it goes."""
_TRIES = 5


def by_api(
    produce: Scenario,
    fetch: Scenario,
    init_producer_id: Scenario,
    transaction: Scenario,
    join_group: Scenario,
    offset_commit: Scenario,
) -> dict[str, Scenario]:
    """The scenarios of a client, each by the APIs whose faults it meets."""
    in_transactions = dict.fromkeys(("AddPartitionsToTxn", "TxnOffsetCommit", "EndTxn"), transaction)
    asked = {"Produce": produce, "Fetch": fetch, "InitProducerId": init_producer_id}
    return asked | in_transactions | {"JoinGroup": join_group, "OffsetCommit": offset_commit}


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

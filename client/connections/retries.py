"""Retries: of retriable errors, with growing pauses, until a deadline."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import TypeVar

from barnabas.client.clock import ClientClock, Deadline
from barnabas.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")

BACKOFF_MS = 20.0
BACKOFF_MAX_MS = 1000.0


def backoffs_ms() -> Iterator[float]:
    """Yield the pause before each new attempt: doubling, up to a second. No jitter: this is one client."""
    pause_ms = BACKOFF_MS
    while True:
        yield pause_ms
        pause_ms = min(pause_ms * 2, BACKOFF_MAX_MS)


def retry(
    attempt: Callable[[], T],
    *,
    clock: ClientClock,
    deadline: Deadline,
    before_next: Callable[[KafkaError], None],
    final: Container[ErrorCode] = (),
) -> T:
    """Return the result of `attempt`, retried after every retriable KafkaError until the deadline; then raise it.

    before_next: gets the error before the next attempt, to look up the leader again, for example.
    final: codes that are final here, though they are retriable elsewhere.
    """
    for pause_ms in backoffs_ms():
        try:
            return attempt()
        except KafkaError as error:
            if not error.code.retriable or error.code in final or deadline.left_ms <= pause_ms:
                raise
            clock.sleep(pause_ms / 1000)
            before_next(error)
    raise AssertionError("the pauses never end")

"""Requests that may name the same id a thousand times: it is described once, and answered as often as it is named.

The copies of an answer are one object, but each takes its bytes on the wire, so that a small request could produce
gigabytes. Knows neither groups nor APIs. Invariant: all copies together take at most COPIES_BYTES_MAX, not counting
each id's first answer and refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

T = TypeVar("T")

COPIES_BYTES_MAX = 256 << 10
TOO_MANY = KafkaError(ErrorCode.INVALID_REQUEST, "The request names the same group too many times.")


def each_described(
    ids: Iterable[str],
    describe: Callable[[str], T],
    size_in_bytes: Callable[[T], int],
    refused: Callable[[str, KafkaError], T],
) -> Steps[list[T]]:
    """Return an answer for each of the ids, in their order. `refused` makes the answers of copies beyond the limit."""
    found: dict[str, T] = {}
    sizes: dict[str, int] = {}
    refusals: dict[str, T] = {}
    answers: list[T] = []
    left = COPIES_BYTES_MAX
    for each in ids:
        yield
        if each not in found:
            answers.append(found.setdefault(each, describe(each)))
            continue
        if each not in sizes:
            sizes[each] = size_in_bytes(found[each])
        if sizes[each] <= left:
            left -= sizes[each]
            answers.append(found[each])
            continue
        if each not in refusals:
            refusals[each] = refused(each, TOO_MANY)
        answers.append(refusals[each])
    return answers

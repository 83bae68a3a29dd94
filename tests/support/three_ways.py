"""Every test of a stream parser runs three ways: whole, byte by byte, and with the beginning of more behind it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def three_ways(
    make: Callable[[], Callable[[bytes], Sequence[T]]], stream: bytes, tail: bytes = b""
) -> Iterator[Sequence[T]]:
    """What a fresh parser (from `make`: bytes in, found things out) finds in `stream`, in each of the three ways."""
    yield make()(stream)
    parse = make()
    yield [found for position in range(len(stream)) for found in parse(stream[position : position + 1])]
    yield make()(stream + tail)

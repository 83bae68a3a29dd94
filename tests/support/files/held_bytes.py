"""The bytes of a log in memory, for the walk over log files."""

from typing import Self

from barnabas.protocol.primitives import Buffer


class HeldBytes:
    """The bytes of a log that are in memory."""

    def __init__(self, data: Buffer) -> None:
        self.size = len(data)
        self._view = memoryview(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no file is open."""

    def read(self, position: int, length: int) -> memoryview:
        """Read `length` bytes from `position` on, fewer at the end."""
        return self._view[position : position + length]

"""What goes through the pipes between the broker and a helper process: pickles, each behind its length.

Both ends are this program in this version, and nobody else has the pipes: nothing is checked against an attacker. To
the process goes an Assignment; from it come Ready once, and for each assignment any number of Progress, then Done or
Failed. A broker that has no such process does not import pickle, which takes 0.4 MB.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from barnabas.broker.runtime.workers.job import Job

_HEAD = struct.Struct(">I")


class Assignment(NamedTuple):
    """A job, and how many bytes of reading and writing it may do in a second (0: any)."""

    job: Job[Any]
    bytes_per_s: int = 0


class Ready(NamedTuple):
    """The process has started and takes assignments."""


class Progress(NamedTuple):
    """How many bytes the job has read and written so far."""

    done_bytes: int


class Done(NamedTuple):
    """The job's result."""

    result: Any


class Failed(NamedTuple):
    """What the job raised."""

    error_class: type[Exception]
    arguments: tuple[Any, ...]
    state: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> Failed:
        """An exception as it can be sent; one that cannot be pickled is told by its text."""
        import pickle

        found = cls(type(error), error.args, dict(error.__dict__))
        try:
            pickle.dumps(found)
        except Exception:  # whatever its fields raise when they are pickled
            return cls(RuntimeError, (f"{type(error).__name__}: {error}",), {})
        return found

    def error(self) -> Exception:
        """The exception again, with its fields. `__init__` is not called: its parameters need not be `args`."""
        error = self.error_class.__new__(self.error_class, *self.arguments)
        error.args = self.arguments
        error.__dict__.update(self.state)
        return error


def encode(message: Assignment | Ready | Progress | Done | Failed) -> bytes:
    """A message with its length."""
    import pickle

    pickled = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(len(pickled)) + pickled


class Messages:
    """Cuts what was read from a pipe into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """The messages that are complete with these bytes."""
        import pickle

        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            end = _HEAD.size + _HEAD.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            message = pickle.loads(self._buffer[_HEAD.size : end])  # nosec B301 - from this process's own worker
            del self._buffer[:end]
            yield message

"""The messages in the pipes between the broker and a helper process: pickles, each behind its length.

Both ends are this program in this version, and no other process has the pipes: nothing is checked against an attacker.
To the process goes a JobAssignment; from it come Ready once, and for each any number of JobProgress, then JobDone or
Failed. A broker that has no such process does not import pickle, which takes 0.4 MB.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from barnabas.broker.runtime.workers.job import Job

_HEAD = struct.Struct(">I")


class JobAssignment(NamedTuple):
    """A job, and its limit of bytes read and written in a second (0: none)."""

    job: Job[Any]
    bytes_per_s: int = 0


class Ready(NamedTuple):
    """The process has started and takes assignments."""


class JobProgress(NamedTuple):
    """How many bytes the job has read and written so far."""

    done_bytes: int


class JobDone(NamedTuple):
    """The job's result."""

    result: Any


class Failed(NamedTuple):
    """The exception of the job."""

    error_class: type[Exception]
    arguments: tuple[Any, ...]
    state: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> Failed:
        """Return an exception in a form that can be sent; one that cannot be pickled is replaced by its text."""
        import pickle

        found = cls(type(error), error.args, dict(error.__dict__))
        try:
            pickle.dumps(found)
        except Exception:  # whatever its fields raise when they are pickled
            return cls(RuntimeError, (f"{type(error).__name__}: {error}",), {})
        return found

    def error(self) -> Exception:
        """Return the exception again, with its fields, without `__init__`, whose parameters may differ from `args`."""
        error = self.error_class.__new__(self.error_class, *self.arguments)
        error.args = self.arguments
        error.__dict__.update(self.state)
        return error


def encode(message: JobAssignment | Ready | JobProgress | JobDone | Failed) -> bytes:
    """Return a message with its length."""
    import pickle

    pickled = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(len(pickled)) + pickled


class Messages:
    """Splits the bytes read from a pipe into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """Yield the messages that are complete with these bytes."""
        import pickle

        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            end = _HEAD.size + _HEAD.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            message = pickle.loads(self._buffer[_HEAD.size : end])  # nosec B301 - from this process's own worker
            del self._buffer[:end]
            yield message

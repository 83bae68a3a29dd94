"""Batches that a topic wants looked into, record by record, before they are appended: a walk in slices.

Knows batches and the settings they are walked for (storage/log/validate.py); not who sent them, nor what becomes of
them.

Theory of operation: what a walk costs is decided by whoever compressed the batch, and may be a minute. So it is done in
slices, with rests (broker/slices.py), and one walk is under way at a time, since it may hold a rebuilt batch of more
than a hundred megabytes. A walk that is over within its first slice, as nearly all are, does not wait for a long one.
Only the compression of a large batch is done in a thread: it is one call, which lets go of the interpreter's lock. It
begins when its walk has room, so a walk that is put into the line has nothing in a thread.

Invariants: at most one walk holds memory between slices; the batches of those that are not over take no more than
WALKED_BYTES_MAX together.
"""

from __future__ import annotations

from asyncio import Future
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.slices import SLICE_MS, Kind, Slices, Work
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.log.validate import walk_in_steps

if TYPE_CHECKING:
    from barnabas.storage.config import LogConfig

WALK = Kind(under_way_max=1, first_ms=SLICE_MS)
WALKED_BYTES_MAX = 64 << 20


class Walks:
    """The walks of one broker."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self.parked_bytes = 0
        """Of batches whose walk is not over."""

    def walk(self, batch: bytes, config: LogConfig, now_ms: int, produce_version: int) -> bytearray | Future[bytearray]:
        """The batch as it should be appended, perhaps later. AppendRefused; KafkaError where too much waits already."""
        size = len(batch)
        if self.parked_bytes + size > WALKED_BYTES_MAX:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "too many batches wait to be looked into")
        walked = self._slices.in_slices(partial(self._steps, batch, config, now_ms, produce_version), WALK)
        if isinstance(walked, Future):
            self.parked_bytes += size
            walked.add_done_callback(partial(self._unpark, size))
        return walked

    def _unpark(self, size: int, _: Future[bytearray]) -> None:
        self.parked_bytes -= size

    def _steps(self, batch: bytes, config: LogConfig, now_ms: int, produce_version: int) -> Work[bytearray]:
        return (yield from walk_in_steps(batch, config, now_ms, produce_version))

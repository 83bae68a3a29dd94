"""Partitions that wait to be recovered in processes: which is next, and how many at a time.

Knows jobs by their partition. Partitions that a request waits for are first. If all running jobs are background ones
when a request arrives, one of these is cancelled and begun again later: its progress is lost, a few seconds of reading,
and no request waited for it.

Many may wait, and a Fetch names hundreds of them, so finding the next one costs the same however many there are: each
data directory has a queue of those that requests wait for and one of the background, and an entry that has left a queue
is skipped when it is the first.

Invariants: at most `num.recovery.threads.per.data.dir` partitions of a data directory are being recovered, and in all
no more than there may be processes; a background one is never begun before one that a request waits for.
"""

from __future__ import annotations

from asyncio import Future
from collections import defaultdict
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from barnabas.broker.partitions.opening.recovery_log import log_recovery
from barnabas.broker.runtime.workers.workers import HelperDied
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.partitions.opening.partition_opening import PartitionOpening
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.broker.runtime.workers.workers import Workers
    from barnabas.storage.directories.recovered_logs import ClosedLog


class _Place:
    """A partition in the queue. `number`: increases with each arrival."""

    __slots__ = ("done_bytes", "future", "in_background", "is_gone", "job", "number", "path", "segments", "unopened")

    def __init__(
        self, unopened: PartitionOpening, path: str, number: int, future: Future[None], *, in_background: bool
    ) -> None:
        self.unopened = unopened
        self.path = path
        """The data directory that contains it."""
        self.number = number
        self.future = future
        self.in_background = in_background
        self.is_gone = False
        self.segments = 0
        self.done_bytes = 0
        self.job: Future[ClosedLog] | None = None
        """Present while the job runs."""


class _Queue:
    """The waiting partitions of one data directory, in the background or not."""

    def __init__(self, *, in_background: bool) -> None:
        self._in_background = in_background
        self._heap: list[tuple[int, _Place]] = []

    def add(self, place: _Place) -> None:
        heappush(self._heap, (place.number, place))

    def first(self) -> _Place | None:
        """Return the earliest partition that still waits here."""
        while self._heap:
            _, place = self._heap[0]
            if not place.is_gone and place.job is None and place.in_background is self._in_background:
                return place
            heappop(self._heap)
        return None

    def take(self) -> None:
        """Remove the first partition, which does not wait any more."""
        heappop(self._heap)


class RecoveryQueue:
    """The recovery queue of one broker."""

    def __init__(self, workers: Workers, config: BrokerConfig) -> None:
        self._workers = workers
        self._config = config
        self._places: dict[PartitionKey, _Place] = {}
        self._under_way: dict[PartitionKey, _Place] = {}  # in the order in which they were begun
        self._requested: defaultdict[str, _Queue] = defaultdict(partial(_Queue, in_background=False))
        self._in_background: defaultdict[str, _Queue] = defaultdict(partial(_Queue, in_background=True))
        self._numbers = count()
        self._past_bytes = 0
        self._is_closed = False

    @property
    def is_beside(self) -> bool:
        """Whether recoveries are done in processes beside the event loop."""
        return self._workers.has_processes

    @property
    def done_bytes(self) -> int:
        """The number of bytes read and written so far, by recoveries that are done and those in progress."""
        return self._past_bytes + sum(place.done_bytes for place in self._under_way.values())

    def segments_in(self, path: str) -> int:
        """Return the number of segments that the recoveries in progress in a data directory read."""
        return sum(place.segments for place in self._under_way.values() if place.path == path)

    def recover(self, unopened: PartitionOpening, future: Future[None], *, in_background: bool) -> None:
        """Recover a partition that is not open; the future is done when the partition can be opened quickly, or fails.

        It fails with StorageError, or DirectoryOffline if a sync failed. Cancelling the future cancels the recovery;
        `leave` does so at once.
        """
        home = unopened.home
        assert home is not None
        place = _Place(unopened, home.path, next(self._numbers), future, in_background=in_background)
        self._places[unopened.key] = place
        self._wait(place)
        self._begin()

    def hurry(self, key: PartitionKey) -> None:
        """Give a partition priority, because a request waits for it; does nothing if it is not in the queue."""
        place = self._places.get(key)
        if place is not None and place.in_background:
            place.in_background = False
            if place.job is None:
                self._wait(place)
                self._begin()

    def leave(self, key: PartitionKey) -> None:
        """Cancel a recovery, if there is one: nothing is done in its directory any more."""
        place = self._places.get(key)
        if place is None:
            return
        self._remove(place)
        if place.job is not None:
            self._workers.give_up(place.job)
        self._begin()

    def close(self) -> None:
        """Begin no more recoveries, because the broker stops."""
        self._is_closed = True

    def _wait(self, place: _Place) -> None:
        (self._in_background if place.in_background else self._requested)[place.path].add(place)

    def _remove(self, place: _Place) -> None:
        key = place.unopened.key
        del self._places[key]
        self._under_way.pop(key, None)
        place.is_gone = True

    def _begin(self) -> None:
        """Begin all recoveries that may be begun now."""
        while not self._is_closed and (place := self._next()) is not None:
            self._begin_one(place)

    def _next(self) -> _Place | None:
        """Return the next partition to begin, of all data directories; cancel a background one if necessary."""
        for queues, may_begin in ((self._requested, self._make_room), (self._in_background, self._has_room)):
            waiting = [place for queue in queues.values() if (place := queue.first()) is not None]
            for place in sorted(waiting, key=lambda each: each.number):
                if may_begin(place.path):
                    queues[place.path].take()
                    return place
        return None

    def _has_room(self, path: str) -> bool:
        return len(self._under_way) < self._workers.jobs_max and not self._is_busy(path)

    def _is_busy(self, path: str) -> bool:
        """Return whether a data directory has the maximum number of recoveries in progress."""
        there = sum(place.path == path for place in self._under_way.values())
        return there >= self._config.integer("num.recovery.threads.per.data.dir")

    def _make_room(self, path: str) -> bool:
        """Make room for a partition that a request waits for: cancel the newest background recovery that blocks it."""
        if self._has_room(path):
            return True
        in_the_way = [
            place
            for place in self._under_way.values()
            if place.in_background and (place.path == path or not self._is_busy(path))
        ]
        if in_the_way:
            self._put_off(in_the_way[-1])
        return bool(in_the_way)

    def _begin_one(self, place: _Place) -> None:
        unopened = place.unopened
        try:
            place.segments = unopened.segments_count()
            job = unopened.job()
        except StorageError as error:
            self._end(place, error)
            return
        place.job = self._workers.run(
            job, in_background=place.in_background, on_progress=partial(setattr, place, "done_bytes")
        )
        self._under_way[unopened.key] = place
        place.job.add_done_callback(partial(self._ended, place))

    def _put_off(self, place: _Place) -> None:
        job, place.job = place.job, None
        assert job is not None
        del self._under_way[place.unopened.key]
        place.done_bytes = 0
        self._wait(place)
        self._workers.give_up(job)

    def _ended(self, place: _Place, job: Future[ClosedLog]) -> None:
        if place.job is not job or self._places.get(place.unopened.key) is not place:
            return  # it was put off, or left: another partition may have its name
        if job.cancelled():
            place.job = None  # the broker stops
            return
        error = job.exception()
        if error is None:
            place.unopened.note(job.result())
            log_recovery(*place.unopened.key, job.result())
        self._end(place, error)
        self._begin()

    def _end(self, place: _Place, error: BaseException | None) -> None:
        key = place.unopened.key
        if self._places.get(key) is not place:
            return
        self._remove(place)
        self._past_bytes += place.done_bytes
        if isinstance(error, HelperDied):
            error = StorageError(f"{key[0]}-{key[1]}", str(error))
        if isinstance(error, StorageError):
            place.unopened.failed(error)
        if place.future.done():
            return
        if error is None:
            place.future.set_result(None)
        else:
            place.future.set_exception(error)

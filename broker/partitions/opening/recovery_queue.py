"""Partitions that wait to be recovered beside the event loop: who is next, and how many at a time.

Knows jobs by their partition. Those that somebody asked for are first. If all that may be under way are in the
background when somebody asks, one of these is given up and begun again later: what it has done is lost, a few seconds
of reading, and nobody waited for it.

Many may wait, and a Fetch names hundreds of them, so to find who is next costs the same however many there are: each
data directory has a queue of those that were asked for and one of the background, and who has left one is passed over
when it is the first.

Invariants: at most `num.recovery.threads.per.data.dir` partitions of a data directory are under way, and in all no more
than there may be processes; one in the background is never begun before one that was asked for.
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
    """A partition in the line. `number`: the one that came earlier has a smaller one."""

    __slots__ = ("done_bytes", "future", "in_background", "is_gone", "job", "number", "path", "segments", "unopened")

    def __init__(
        self, unopened: PartitionOpening, path: str, number: int, future: Future[None], *, in_background: bool
    ) -> None:
        self.unopened = unopened
        self.path = path
        """The data directory it lies in."""
        self.number = number
        self.future = future
        self.in_background = in_background
        self.is_gone = False
        self.segments = 0
        self.done_bytes = 0
        self.job: Future[ClosedLog] | None = None
        """Present while it is under way."""


class _Queue:
    """Those of one data directory that wait, in the background or not."""

    def __init__(self, *, in_background: bool) -> None:
        self._in_background = in_background
        self._heap: list[tuple[int, _Place]] = []

    def add(self, place: _Place) -> None:
        heappush(self._heap, (place.number, place))

    def first(self) -> _Place | None:
        """Who came earliest of those that still wait here."""
        while self._heap:
            _, place = self._heap[0]
            if not place.is_gone and place.job is None and place.in_background is self._in_background:
                return place
            heappop(self._heap)
        return None

    def take(self) -> None:
        """It does not wait any more."""
        heappop(self._heap)


class RecoveryQueue:
    """Of one broker."""

    def __init__(self, workers: Workers, config: BrokerConfig) -> None:
        self._workers = workers
        self._config = config
        self._places: dict[PartitionKey, _Place] = {}
        self._under_way: dict[PartitionKey, _Place] = {}  # in the order in which they were begun
        self._asked: defaultdict[str, _Queue] = defaultdict(partial(_Queue, in_background=False))
        self._in_background: defaultdict[str, _Queue] = defaultdict(partial(_Queue, in_background=True))
        self._numbers = count()
        self._past_bytes = 0
        self._is_closed = False

    @property
    def is_beside(self) -> bool:
        """Whether recoveries are done beside the event loop: in processes."""
        return self._workers.has_processes

    @property
    def done_bytes(self) -> int:
        """How many bytes were read and written so far, by recoveries that are done and those under way."""
        return self._past_bytes + sum(place.done_bytes for place in self._under_way.values())

    def segments_in(self, path: str) -> int:
        """How many segments the recoveries look into that are under way in a data directory."""
        return sum(place.segments for place in self._under_way.values() if place.path == path)

    def recover(self, unopened: PartitionOpening, future: Future[None], *, in_background: bool) -> None:
        """Recover a partition that nothing has open; the future is done when opening it takes a moment, or fails.

        StorageError, DirectoryOffline if a sync failed. Cancel the future to give it up; `leave` does so at once.
        """
        home = unopened.home
        assert home is not None
        place = _Place(unopened, home.path, next(self._numbers), future, in_background=in_background)
        self._places[unopened.key] = place
        self._wait(place)
        self._begin()

    def hurry(self, key: PartitionKey) -> None:
        """Somebody waits for a partition, whether it is in the line or not."""
        place = self._places.get(key)
        if place is not None and place.in_background:
            place.in_background = False
            if place.job is None:
                self._wait(place)
                self._begin()

    def leave(self, key: PartitionKey) -> None:
        """Give it up, whether it is in the line or not: nothing is done in its directory any more."""
        place = self._places.get(key)
        if place is None:
            return
        self._remove(place)
        if place.job is not None:
            self._workers.give_up(place.job)
        self._begin()

    def close(self) -> None:
        """The broker stops: nothing is begun any more."""
        self._is_closed = True

    def _wait(self, place: _Place) -> None:
        (self._in_background if place.in_background else self._asked)[place.path].add(place)

    def _remove(self, place: _Place) -> None:
        key = place.unopened.key
        del self._places[key]
        self._under_way.pop(key, None)
        place.is_gone = True

    def _begin(self) -> None:
        """Begin all that may be begun now."""
        while not self._is_closed and (place := self._next()) is not None:
            self._begin_one(place)

    def _next(self) -> _Place | None:
        """Who may be begun now, of all data directories; one of the background has given way to it, if need be."""
        for queues, may_begin in ((self._asked, self._make_room), (self._in_background, self._has_room)):
            waiting = [place for queue in queues.values() if (place := queue.first()) is not None]
            for place in sorted(waiting, key=lambda each: each.number):
                if may_begin(place.path):
                    queues[place.path].take()
                    return place
        return None

    def _has_room(self, path: str) -> bool:
        return len(self._under_way) < self._workers.jobs_max and not self._is_busy(path)

    def _is_busy(self, path: str) -> bool:
        """Whether so many of a data directory are under way as may be."""
        there = sum(place.path == path for place in self._under_way.values())
        return there >= self._config.integer("num.recovery.threads.per.data.dir")

    def _make_room(self, path: str) -> bool:
        """For one that somebody asked for: the last one of the background that is in its way gives way."""
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

"""Partitions that wait to be recovered beside the event loop: who is next, and how many at a time.

Knows jobs by their partition. Those that somebody asked for are first. If all that may be under way are in the
background when somebody asks, one of these is given up and begun again later: what it has done is lost, a few seconds
of reading, and nobody waited for it.

Invariants: at most `num.recovery.threads.per.data.dir` partitions of a data directory are under way, and in all no more
than there may be processes; one in the background is never begun before one that was asked for.
"""

from __future__ import annotations

from asyncio import Future
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.partitions.recovery_log import log_recovery
from barnabas.broker.workers.workers import HelperDied
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.partitions.unopened import Unopened
    from barnabas.broker.partitions.waiters import PartitionKey
    from barnabas.broker.workers.workers import Workers
    from barnabas.storage.recovered_logs import ClosedLog


class _Place:
    """A partition in the line."""

    __slots__ = ("done_bytes", "future", "in_background", "job", "path", "segments", "unopened")

    def __init__(self, unopened: Unopened, path: str, future: Future[None], *, in_background: bool) -> None:
        self.unopened = unopened
        self.path = path
        """The data directory it lies in."""
        self.future = future
        self.in_background = in_background
        self.segments = 0
        self.done_bytes = 0
        self.job: Future[ClosedLog] | None = None
        """Present while it is under way."""


class RecoveryLine:
    """Of one broker."""

    def __init__(self, workers: Workers, config: BrokerConfig) -> None:
        self._workers = workers
        self._config = config
        self._places: dict[PartitionKey, _Place] = {}
        self._past_bytes = 0
        self._is_closed = False

    @property
    def is_beside(self) -> bool:
        """Whether recoveries are done beside the event loop: in processes."""
        return self._workers.has_processes

    @property
    def done_bytes(self) -> int:
        """How many bytes were read and written so far, by recoveries that are done and those under way."""
        return self._past_bytes + sum(place.done_bytes for place in self._places.values())

    def segments_in(self, path: str) -> int:
        """How many segments the recoveries look into that are under way in a data directory."""
        found = (place for place in self._places.values() if place.job is not None and place.path == path)
        return sum(place.segments for place in found)

    def recover(self, unopened: Unopened, future: Future[None], *, in_background: bool) -> None:
        """Recover a partition that nothing has open; the future is done when opening it takes a moment, or fails.

        StorageError, DirectoryOffline if a sync failed. Cancel the future to give it up; `leave` does so at once.
        """
        home = unopened.home
        assert home is not None
        self._places[unopened.key] = _Place(unopened, home.path, future, in_background=in_background)
        self._begin()

    def hurry(self, key: PartitionKey) -> None:
        """Somebody waits for a partition, whether it is in the line or not."""
        place = self._places.get(key)
        if place is not None and place.in_background:
            place.in_background = False
            self._begin()

    def leave(self, key: PartitionKey) -> None:
        """Give it up, whether it is in the line or not: nothing is done in its directory any more."""
        place = self._places.pop(key, None)
        if place is None:
            return
        if place.job is not None:
            self._workers.give_up(place.job)
        self._begin()

    def close(self) -> None:
        """The broker stops: nothing is begun any more."""
        self._is_closed = True

    def _begin(self) -> None:
        """Begin all that may be begun now."""
        if self._is_closed:
            return
        threads = self._config.integer("num.recovery.threads.per.data.dir")
        under_way = [place for place in self._places.values() if place.job is not None]
        busy = Counter(place.path for place in under_way)
        count = len(under_way)
        waiting = [place for place in self._places.values() if place.job is None]
        for place in sorted(waiting, key=lambda each: each.in_background):
            is_full = count >= self._workers.jobs_max
            if is_full or busy[place.path] >= threads:
                other = None if place.in_background else self._in_the_way(None if is_full else place.path)
                if other is None:
                    continue
                self._put_off(other)
                busy[other.path] -= 1
                count -= 1
                if busy[place.path] >= threads:
                    continue
            self._begin_one(place)
            busy[place.path] += 1
            count += 1

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
        place.job.add_done_callback(partial(self._ended, place))

    def _in_the_way(self, path: str | None) -> _Place | None:
        """One in the background that is under way, of that data directory or of any: the last one that was begun."""
        found = [
            place
            for place in self._places.values()
            if place.job is not None and place.in_background and path in (None, place.path)
        ]
        return found[-1] if found else None

    def _put_off(self, place: _Place) -> None:
        job, place.job = place.job, None
        assert job is not None
        place.done_bytes = 0
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
        del self._places[key]
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

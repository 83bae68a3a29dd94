"""The log cleaner of a broker: checks the compacted logs, and has those with the highest dirty ratio cleaned.

Knows open partitions. cleaning_round.py does one cleaning, cleaning_candidates.py chooses the next log. As in Apache
Kafka, the cleaner checks every log.cleaner.backoff.ms, and at once after a cleaning; at most log.cleaner.threads logs
are cleaned at a time. A partition whose cleaning fails is marked uncleanable until the next start, and the others
continue; a full disk only delays the cleaning. If the processes that clean a log died or hung, the log itself may be
fine: its cleaning is retried, with a growing delay. Partitions that were not opened in this run are checked, too, from
time to time: the names of their files show whether there may be something to clean. Nothing is cleaned while partitions
are being recovered, because clients wait for those.

Invariants: a partition has at most one cleaning; one that is moved, deleted or closed for good has none.
"""

from __future__ import annotations

import errno
from asyncio import CancelledError, Future
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from barnabas.broker.partitions.cleaning.backoff import PutOff
from barnabas.broker.partitions.cleaning.cleaning_candidates import Candidate, filthiest_first
from barnabas.broker.partitions.cleaning.cleaning_round import CleanerContext, CleaningRound, Discarded
from barnabas.broker.partitions.cleaning.stats import Cleaned, CleanerFigures, SetAside
from barnabas.broker.partitions.cleaning.unopened_logs import UnopenedCompactedLogs
from barnabas.broker.runtime.events.kinds import LOG_CLEANED
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.runtime.workers.workers import HelperDied
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC, UNCLEANABLE_PARTITIONS
from barnabas.storage.errors import DirectoryOffline, StorageError
from barnabas.storage.log.cleaning.cleanable import Cleanable, first_dirty
from barnabas.storage.log.cleaning.segment_replacement import removal_of_cleaned

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.broker.runtime.clock import Timer
    from barnabas.broker.runtime.scheduler import Work
    from barnabas.storage.disk.directory import Directory
    from barnabas.storage.log.log import PartitionLog

_log = logger("cleaner")
_LOOKING: Final = WorkClass(under_way_max=1, steps_max=64, slice_ms=1, may_begin_again=False)
_CLEANING: Final = WorkClass(under_way_max=1_000, steps_max=8, slice_ms=1, may_begin_again=False)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)

Outcome = Cleaned | Exception
"""The outcome of a cleaning."""


class LogCleaner:
    """The cleanings of one broker."""

    def __init__(self, around: CleanerContext) -> None:
        self.figures = CleanerFigures()
        self.rounds: dict[PartitionKey, CleaningRound] = {}
        """The cleanings that are in progress. Not to be changed from outside."""
        self._around = around
        self._sleeping = UnopenedCompactedLogs(around)
        self._put_off = PutOff()
        self._under_way: dict[PartitionKey, Future[Outcome]] = {}
        self._ended_callbacks: dict[PartitionKey, list[Callable[[Outcome], None]]] = {}
        self._timer: Timer | None = None
        self._is_looking = False
        self._is_stopped = False
        around.partitions.when_released.append(self._released)

    @property
    def is_syncing(self) -> bool:
        """Whether something is being synced for a cleaning, in a thread."""
        return bool(self._around.syncing)

    def start(self) -> None:
        """Check the logs now, and every log.cleaner.backoff.ms from now on. Uncleanable partitions are tried again."""
        self._note_set_aside()
        if self._around.settings.is_enabled:
            self._look()

    def stop(self) -> None:
        """Cancel the cleanings in progress; each log is as it was before its cleaning, or after it."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        for key in list(self._under_way):
            self._give_up(key, Discarded("the broker stops"))

    # --- checking the logs ---

    def _look_later(self) -> None:
        if not self._is_stopped:
            if self._timer is not None:
                self._timer.cancel()
            clock = self._around.clock
            self._timer = clock.call_later(clock.until_next(max(1, self._around.settings.backoff_ms)), self._look)

    def _look(self) -> None:
        self._look_later()
        if self._is_looking or self._is_stopped or len(self._around.partitions.recoveries):
            return
        self._is_looking = True
        looked = self._around.upkeep.in_slices(self._candidates, _LOOKING)
        if isinstance(looked, Future):
            looked.add_done_callback(self._looked_later)
        else:
            self._looked(looked)

    def _looked_later(self, done: Future[list[Candidate]]) -> None:
        self._is_looking = False
        if not done.cancelled():
            self._looked(done.result())

    def _note_set_aside(self) -> None:
        """Write the uncleanable partitions to a file, a line each, for `barnabas doctor`, which reads directories."""
        for home in self._around.partitions.directory.members:
            lines = [
                f"{topic}-{partition} {why.reason}\n"
                for (topic, partition), why in sorted(self.figures.set_aside.items())
                if why.directory == home.path
            ]
            with suppress(StorageError):  # the doctor lacks these lines; the failed directory is reported elsewhere
                if lines:
                    home.root.write_atomically(UNCLEANABLE_PARTITIONS, "".join(lines).encode())
                elif home.root.exists(UNCLEANABLE_PARTITIONS):
                    home.root.remove(UNCLEANABLE_PARTITIONS)

    def _looked(self, candidates: list[Candidate]) -> None:
        self._is_looking = False
        figures = self.figures
        figures.looked_ms = self._around.clock.now_ms()
        figures.max_dirty_ratio = max((each.cleanable.dirty_ratio for each in candidates), default=0.0)
        figures.max_compaction_delay_ms = max((each.cleanable.compaction_delay_ms for each in candidates), default=0)
        for candidate in filthiest_first(candidates):
            if len(self.rounds) >= self._around.settings.jobs_max:
                break
            if self._may_be_cleaned(candidate.key):
                self._begin(candidate.key, candidate.cleanable)
        self._sleeping.close_all_but(self.rounds)

    def _candidates(self) -> Work[list[Candidate]]:
        """Return every log that could be cleaned, with its dirty ratio."""
        found: list[Candidate] = []
        yield from self._sleeping.wake(self._may_be_cleaned)
        for log in self._around.partitions.open_logs():
            key = log.topic, log.partition
            if log.config.is_compacted and self._may_be_cleaned(key):
                try:
                    found.append(Candidate(key, (yield from self.cleanable(log)), log.config))
                except StorageError as error:
                    self._failed(key, error)
            yield None
        return found

    def cleanable(self, log: PartitionLog) -> Work[Cleanable]:
        """Return the part of a log that can be cleaned now. Raises StorageError."""
        around, key = self._around, (log.topic, log.partition)
        home = around.partitions.directory.home(*key)
        assert home is not None, "an open log has a directory"
        begin = first_dirty(
            home.checkpoints.first_dirty(key),
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
        )
        if begin.is_reset:
            if not log.config.is_deleted_by_age_or_size:
                _log.warning(line("first dirty offset reset", topic=key[0], partition=key[1], to=begin.offset))
            home.checkpoints.note_cleaned(key, begin.offset)
        return (yield from log.cleanable(begin.offset, around.clock.now_ms()))

    def _may_be_cleaned(self, key: PartitionKey) -> bool:
        if key in self.rounds or key in self.figures.set_aside or key[0] == CLUSTER_METADATA_TOPIC:
            return False
        if self._put_off.is_waiting(key, self._around.clock.now_ms()):
            return False
        home = self._around.partitions.directory.home(*key)
        if home is not None and home.root.disk.full_reason is not None:
            return False  # a cleaning needs free space before it frees any: the reserve is for other writes
        return not self._around.is_moving(key)

    # --- cleaning ---

    def clean(self, key: PartitionKey, cleanable: Cleanable) -> Future[Outcome]:
        """Clean a log whatever its dirty ratio. Return the outcome, also of a cleaning in progress. Never raises."""
        future: Future[Outcome] = self._around.upkeep.loop.create_future()

        def ended(outcome: Outcome) -> None:
            if not future.done():
                future.set_result(outcome)

        if self._is_stopped:
            ended(Discarded("the broker stops"))
            return future
        self._ended_callbacks.setdefault(key, []).append(ended)
        if key not in self.rounds:
            self._begin(key, cleanable)
        return future

    def _begin(self, key: PartitionKey, cleanable: Cleanable) -> None:
        cleaning = self.rounds[key] = CleaningRound(self._around, key, cleanable)
        ending = self._around.upkeep.in_slices(partial(self._outcome, cleaning), _CLEANING)
        if isinstance(ending, Future):
            self._under_way[key] = ending
            ending.add_done_callback(partial(self._ended_later, key))
        else:
            self._ended(key, ending)

    def _outcome(self, cleaning: CleaningRound) -> Work[Outcome]:
        try:
            return (yield from cleaning.work())
        except CancelledError:
            return Discarded("the broker stops")
        except Exception as error:  # whatever it is, the other partitions must not be affected
            return error

    def _ended_later(self, key: PartitionKey, done: Future[Outcome]) -> None:
        if self._under_way.get(key) is done:
            del self._under_way[key]
            self._ended(key, Discarded("the broker stops") if done.cancelled() else done.result())

    def _ended(self, key: PartitionKey, outcome: Outcome) -> None:
        del self.rounds[key]
        if isinstance(outcome, Cleaned):
            self.figures.add(outcome)
            self._put_off.forget(key)
            _log.info(line("log cleaned", **outcome._asdict()))
            self._report(outcome)
        elif isinstance(outcome, Discarded):
            _log.info(line("cleaning discarded", topic=key[0], partition=key[1], reason=outcome))
        else:
            self._failed(key, outcome)
        for notify in self._ended_callbacks.pop(key, ()):
            notify(outcome)
        is_over = isinstance(outcome, Cleaned) or not self._may_be_cleaned(key)
        if is_over and self._around.settings.is_enabled:
            self._around.upkeep.loop.call_soon(self._look)

    def _report(self, cleaned: Cleaned) -> None:
        if self._around.events.is_on:
            facts = {"topic": cleaned.topic, "partition": cleaned.partition, "records_kept": cleaned.records_after}
            sizes = {"bytes_before": cleaned.bytes_before, "bytes_after": cleaned.bytes_after}
            self._around.events.emit(LOG_CLEANED, {**facts, **sizes})

    def _failed(self, key: PartitionKey, error: Exception) -> None:
        """Log the error, and mark the partition uncleanable unless the error is temporary."""
        topic, partition = key
        where = {"topic": topic, "partition": partition, "reason": error}
        if isinstance(error, (KafkaError, DirectoryOffline)):
            _log.debug(line("log not cleaned", **where))
            return
        if isinstance(error, StorageError) and error.errno in _FULL:
            _log.warning(line("log not cleaned: no room", **where))
            return
        home = self._around.partitions.directory.home(topic, partition)
        if home is None:
            return
        if isinstance(error, HelperDied) or self._is_half_swapped(key):
            delay_ms = self._put_off.add(key, self._around.clock.now_ms())
            _log.warning(line("log not cleaned: tried again later", **where, delay_ms=delay_ms))
            return
        self.figures.set_aside[key] = SetAside(home.path, str(error) or repr(error))
        _log.error(line("log not cleaned any more until a restart", **where))
        self._remove_cleaned(home.directory_of(key))
        self._note_set_aside()

    def _remove_cleaned(self, directory: Directory) -> None:
        """Remove the cleaned files in a thread. Files that cannot be removed are left to the next start."""
        try:
            job = removal_of_cleaned(directory)
        except StorageError:
            return
        if job is not None:
            self._around.run(job)

    def _is_half_swapped(self, key: PartitionKey) -> bool:
        """Return whether compacted segments still have to be swapped in: then the disk failed, perhaps only for now."""
        partitions = self._around.partitions
        return partitions.is_open(*key) and partitions.get(*key).replacer.is_under_way

    # --- cancelling ---

    def _released(self, topic: str, partition: int) -> None:
        """Cancel the cleaning of a partition whose topic is deleted, or which is in another directory now."""
        key = topic, partition
        self._put_off.forget(key)
        if self.figures.set_aside.pop(key, None) is not None:
            self._note_set_aside()
        if key in self._under_way:
            self._give_up(key, Discarded("it was deleted or moved"))

    def _give_up(self, key: PartitionKey, why: Discarded) -> None:
        future = self._under_way.pop(key)
        self._around.upkeep.give_up(future)
        self._ended(key, why)

    def set_aside(self) -> Iterable[tuple[PartitionKey, SetAside]]:
        """Return the partitions that are marked uncleanable, with the reasons."""
        return self.figures.set_aside.items()

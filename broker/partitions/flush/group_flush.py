"""Group fsync: partitions are synced off the event loop, and all waiting requests are answered after one round.

Knows logs and offsets, not requests. Plans are made and ended on the loop; only running them (sync_rounds.py) is done
elsewhere, in the one flush thread.

Theory of operation: requests of one turn of the loop gather; a round takes a plan for each of their logs and runs them
all in the thread. Batches appended meanwhile wait for the next round, which starts as soon as this one ends. So the
more requests wait, the fewer syncs each of them costs. Where very many logs wait (a transaction over thousands of
partitions ends), a round takes some of those that wait longest and some of the newest: the loop is never blocked for
long, all have their turn, and a request for one more log does not wait for all the others.

Invariants: a future is resolved only when everything below its offset is on disk; after a failed sync every waiting
future fails, and the directory is offline (see `barnabas.storage.disk.disk`).
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.broker.partitions.flush.sync_rounds import SyncRounds
from barnabas.broker.runtime.events.bounded_facts import some_partitions
from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kinds import FLUSH_BEGUN, FLUSH_ENDED
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from barnabas.storage.log.flush import FlushPlan
    from barnabas.storage.log.log import PartitionLog

_log = logger("storage")
ROUND_LOGS = 64
Outcome = list[tuple["PartitionLog", "FlushPlan", StorageError | None]]


class GroupFlush:
    """Syncs logs in rounds."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        run_in_thread: Callable[[Callable[[], Outcome]], Future[Outcome]],
        rounds: SyncRounds | None = None,
        events: Events | None = None,
        when_synced: Callable[[str, int], None] | None = None,
    ) -> None:
        """Start idle. run_in_thread: runs a function in the flush thread, one at a time. rounds: sync the plans there.

        when_synced: called when readers of a partition may see more.
        """
        self._loop = loop
        self._run_in_thread = run_in_thread
        self._rounds = rounds or SyncRounds()
        self._events = events or Events()
        self._when_synced = when_synced
        self._waiting: dict[PartitionLog, list[tuple[int, Future[None]]]] = {}
        self._syncing: set[PartitionLog] = set()
        self._held: set[PartitionLog] = set()
        self._is_running = False

    @property
    def is_busy(self) -> bool:
        """Whether a round is running or about to."""
        return self._is_running

    def hold(self, log: PartitionLog) -> bool:
        """Begin no round with this log until `release`. Return whether none is running: then the log may be closed."""
        self._held.add(log)
        return log not in self._syncing

    def release(self, log: PartitionLog) -> None:
        """Allow rounds with a log again. The next one answers its waiting requests: a closed log is synced."""
        self._held.discard(log)
        if log in self._waiting:
            self._start_soon()

    def request(self, log: PartitionLog) -> None:
        """Sync this log in the next round, without waiting for it."""
        self._waiting.setdefault(log, [])
        self._start_soon()

    def synced(self, log: PartitionLog, offset: int) -> Future[None]:
        """Return a future, done once all below `offset` is on disk; it may fail with KafkaError KAFKA_STORAGE_ERROR."""
        future: Future[None] = self._loop.create_future()
        self._waiting.setdefault(log, []).append((offset, future))
        self._start_soon()
        return future

    def all_synced(self) -> Future[list[object]] | None:
        """Return a future, done once all logs that wait for a sync are synced to the end, or failed; None if none."""
        waiting = [self.synced(log, log.log_end_offset) for log in list(self._waiting) if log not in self._held]
        return gather(*waiting, return_exceptions=True) if waiting else None

    def _start_soon(self) -> None:
        if not self._is_running:
            self._is_running = True
            self._loop.call_soon(self._run_round)

    def _run_round(self) -> None:
        plans: list[tuple[PartitionLog, FlushPlan]] = []
        logs = self._next_logs()
        are_all = len(logs) == len(self._waiting) - len(self._held & self._waiting.keys())
        for log in logs:
            try:
                plan = log.begin_flush()
            except StorageError as error:
                self._fail(log, error)
                continue
            if plan is None:
                self._answer(log)
            else:
                plans.append((log, plan))
        if not plans:
            self._is_running = False
            if not are_all:
                self._start_soon()
            return
        self._syncing = {log for log, _ in plans}
        if self._events.is_on:
            partitions = some_partitions([(log.topic, log.partition) for log, _ in plans])
            self._events.emit(FLUSH_BEGUN, {"partitions": partitions, "partitions_count": len(plans)})
        self._run_in_thread(lambda: self._run(plans)).add_done_callback(self._end_round)

    def _run(self, plans: list[tuple[PartitionLog, FlushPlan]]) -> Outcome:
        """Run the plans of a round. Runs in the flush thread."""
        errors = self._rounds.run([plan for _, plan in plans])
        return [(log, plan, error) for (log, plan), error in zip(plans, errors, strict=True)]

    def close(self) -> None:
        """Stop syncing."""
        self._rounds.close()

    def _next_logs(self) -> list[PartitionLog]:
        waiting = self._waiting
        if self._held:
            waiting = {log: each for log, each in waiting.items() if log not in self._held}
        if len(waiting) <= ROUND_LOGS:
            return list(waiting)
        half = ROUND_LOGS // 2
        return [*islice(waiting, half), *islice(reversed(waiting), half)]

    def _end_round(self, done: Future[Outcome]) -> None:
        outcome = done.result()
        if self._events.is_on:
            failed_count = sum(error is not None for _, _, error in outcome)
            self._events.emit(FLUSH_ENDED, {"partitions_count": len(outcome), "failed_count": failed_count})
        for log, plan, error in outcome:
            if error is None:
                log.end_flush(plan)
                self._answer(log)
            else:
                _log.error(line("flush failed", topic=log.topic, partition=log.partition, reason=error))
                log.flush_failed(plan, error)
                self._fail(log, error)
        self._syncing = set()
        self._is_running = False
        if self._waiting:
            self._start_soon()

    def _answer(self, log: PartitionLog) -> None:
        """Resolve the futures whose offset is reached; the others wait for the next round."""
        if self._when_synced is not None:
            self._when_synced(log.topic, log.partition)
        left = []
        for offset, future in self._waiting.pop(log):
            if future.done():
                continue
            if offset <= log.recovery_point:
                future.set_result(None)
            else:
                left.append((offset, future))
        if left:
            self._waiting[log] = left

    def _fail(self, log: PartitionLog, error: StorageError) -> None:
        for _, future in self._waiting.pop(log):
            if not future.done():
                future.set_exception(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))

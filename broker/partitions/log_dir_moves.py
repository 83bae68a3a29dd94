"""Moves of partitions to another data directory, while they are in use: AlterReplicaLogDirs.

Decides when a copy is made and swapped in; storage/directories/log_move.py does it. One partition is copied at a time,
in a thread; the others wait in the order of their requests.

Theory of operation: rounds copy what the log has and the copy lacks, until little is left. Then the log is synced, in
the flush thread. Then, in one turn of the event loop, the log is closed, the rest copied, the catalogue updated, and
the copy takes the partition's place. So that turn copies and syncs some files, however many the log has. The next
request for the partition opens it in the new directory.

No code holds a log over several turns of the loop except requests that wait for a sync, and a transaction that has
ended and is not visible yet. The last step waits for the transaction. Where every request has the log synced, some
request always waits; so the step prevents the next sync from beginning, and syncs the log itself as it closes it. A
move that fails leaves the partition where it was.

Invariants: a partition has at most one move; no copy outlives the broker under its name: a move that is not done when
the broker stops is forgotten, because the tools that request one expect that they have to request it again.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.partitions.flush.disk_work import storage_failure
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.directories.log_move import ROUND_BYTES, CopyRound, Move
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.purgatory import PartitionKey, Purgatory
    from barnabas.broker.runtime.clock import Clock
    from barnabas.storage.directories.log_directory import LogDirectory
    from barnabas.storage.log.log import PartitionLog

_log = logger("storage")
LAST_BYTES = 1 << 20
LAST_SEGMENTS = 4
"""With no more than this left, the log is closed for the last round."""
_PATIENCE = 100  # races, after which a log that grows as fast as it is copied is blocked while the rest is copied
_TRY_AGAIN_MS = 5


class _Moving:
    """One requested move: the target directory, and the copy once it is begun."""

    def __init__(self, key: PartitionKey, target: LogDirectory) -> None:
        self.key = key
        self.target = target
        self.copy: Move | None = None
        self.races = 0
        """The number of rounds that copied everything there was, while more than LAST_BYTES were appended."""
        self.is_synced = True
        """Whether little of the log is not on the disk: it has been synced since the last round, or is small."""
        self.held: PartitionLog | None = None
        """The log whose next sync is held back, because the last step follows."""
        self.is_given_up = False


class LogDirMoves:
    """The moves of one broker. A `CatalogueListener`."""

    def __init__(
        self,
        partitions: Partitions,
        catalogue: Catalogue,
        flush: GroupFlush,
        waiters: Purgatory,
        clock: Clock,
        machine_clock: Clock,
        loop: AbstractEventLoop,
        random_bytes: Callable[[int], bytes],
        delete_delay_ms: Callable[[], int],
    ) -> None:
        self._partitions = partitions
        self._catalogue = catalogue
        self._flush = flush
        self._waiters = waiters
        self._clock = clock
        self._machine_clock = machine_clock
        self._loop = loop
        self._random_bytes = random_bytes
        self._delete_delay_ms = delete_delay_ms
        self._requested: dict[PartitionKey, _Moving] = {}
        self._current: _Moving | None = None
        self.is_copying = False
        """Whether a round is being copied in a thread."""
        catalogue.subscribe(self)

    def under_way(self) -> dict[PartitionKey, tuple[LogDirectory, int, int]]:
        """Return the target directories of the moves, the bytes copied, and the offset up to which all is copied."""
        return {
            key: (moving.target, *((0, 0) if moving.copy is None else (moving.copy.size, moving.copy.copied_offset)))
            for key, moving in self._requested.items()
        }

    def ask(self, topic: str, partition: int, target: LogDirectory) -> None:
        """Move a partition, unless it is there already, replacing an earlier request. Raises KafkaError."""
        key = topic, partition
        before = self._requested.get(key)
        if before is not None and before.target is not target:
            self._give_up(before)
        try:
            place = self._partitions.directory.place(
                topic, partition, self._catalogue.topics[topic].partitions[partition].directory_id
            )
        except StorageError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        if place.offline_reason is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, place.offline_reason)
        if place is target or key in self._requested:
            return
        if not place.has(key):
            self._catalogue.assign({key: target.directory_id})
            return
        self._requested[key] = _Moving(key, target)
        self._begin_next()

    def close(self) -> None:
        """Cancel all moves that are not done, because the broker stops."""
        for moving in list(self._requested.values()):
            self._give_up(moving)

    # --- one move ---

    def _begin_next(self) -> None:
        if self._current is None and self._requested:
            self._current = next(iter(self._requested.values()))
            self._loop.call_soon(self._go_on, self._current)

    def _go_on(self, moving: _Moving) -> None:
        self._release(moving)
        if moving.is_given_up:
            self._end(moving)
            return
        try:
            log = self._partitions.get(*moving.key)
            if moving.copy is None:
                home = self._partitions.directory.home(*moving.key)
                assert home is not None, "an open log has a directory"
                log.replacer.finish()  # no cleaning begins from now on, and a copied file is never replaced
                moving.copy = Move(moving.key, home, moving.target, self._random_bytes(16))
            left = moving.copy.left(log.sizes)
            if moving.races < _PATIENCE and (left.size > LAST_BYTES or left.segments > LAST_SEGMENTS):
                self._copy(moving, moving.copy, moving.copy.round(log.sizes))
            elif not moving.is_synced:
                moving.is_synced = True
                self._flush.synced(log, log.log_end_offset).add_done_callback(partial(self._synced, moving))
            elif log.producers.is_holding:
                self._try_again(moving)
            else:
                self._swap_unless_syncing(moving, moving.copy, log)
        except StillRecovering as recovering:
            recovering.when_over(lambda: self._go_on(moving))
        except (KafkaError, StorageError) as error:
            self._failed(moving, error)

    def _try_again(self, moving: _Moving) -> None:
        self._machine_clock.call_later(_TRY_AGAIN_MS, lambda: self._go_on(moving))

    def _copy(self, moving: _Moving, copy: Move, next_round: CopyRound) -> None:
        def ended(done: Future[StorageError | None]) -> None:
            self.is_copying = False
            moving.races += next_round.size < ROUND_BYTES
            error = done.result()
            if error is not None and not moving.is_given_up:
                self._failed(moving, error)
                return
            copy.end_round(next_round)
            self._go_on(moving)

        self.is_copying, moving.is_synced = True, False
        self._loop.run_in_executor(None, storage_failure, next_round.run).add_done_callback(ended)

    def _synced(self, moving: _Moving, done: Future[None]) -> None:
        error = None if done.cancelled() else done.exception()
        if isinstance(error, KafkaError) and not moving.is_given_up:
            self._failed(moving, error)
        else:
            self._go_on(moving)

    def _swap_unless_syncing(self, moving: _Moving, copy: Move, log: PartitionLog) -> None:
        moving.held = log
        if self._flush.hold(log):
            self._swap(moving, copy)
        else:
            self._try_again(moving)

    def _release(self, moving: _Moving) -> None:
        """Release the held log. In the same turn it may be held again, before a sync begins."""
        held, moving.held = moving.held, None
        if held is not None:
            self._flush.release(held)

    def _swap(self, moving: _Moving, copy: Move) -> None:
        """Swap in the copy in this turn, or leave the partition in place. Raises KafkaError and StorageError."""
        topic, partition = moving.key
        self._partitions.release(topic, partition)
        try:
            copy.complete()
            self._catalogue.assign({moving.key: copy.target.directory_id})
            try:
                copy.swap(self._random_bytes(16), self._clock.now_ms() + self._delete_delay_ms())
            except StorageError:
                if copy.source.has(moving.key):
                    with suppress(KafkaError):  # the next start corrects it
                        self._catalogue.assign({moving.key: copy.source.directory_id})
                raise
        finally:
            self._waiters.wake(topic, partition)
        moving.copy = None
        _log.info(line("partition moved", topic=topic, partition=partition, data=copy.target.path))
        self._end(moving)

    def _failed(self, moving: _Moving, error: Exception) -> None:
        topic, partition = moving.key
        _log.error(line("partition not moved", topic=topic, partition=partition, reason=error))
        self._end(moving)

    def _give_up(self, moving: _Moving) -> None:
        moving.is_given_up = True
        self._requested.pop(moving.key, None)
        if moving is self._current and not self.is_copying:
            self._end(moving)

    def _end(self, moving: _Moving) -> None:
        """End the move, whatever its outcome; a second call does nothing."""
        if self._requested.get(moving.key) is moving:
            del self._requested[moving.key]
        moving.is_given_up = True
        self._release(moving)
        copy, moving.copy = moving.copy, None
        if copy is not None:
            with suppress(StorageError):  # the directory of the copy has failed
                copy.give_up()
        if self._current is moving:
            self._current = None
            self._begin_next()

    # --- called by the catalogue ---

    def on_topic_created(self, topic: TopicImage) -> None:
        """Do nothing: a new topic has no move."""

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing: new partitions have no move."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: moves do not depend on settings."""

    def on_topic_deleted(self, topic: TopicImage) -> None:
        for partition in range(len(topic.partitions)):
            moving = self._requested.get((topic.name, partition))
            if moving is not None:
                self._give_up(moving)

"""The background jobs that move partitions between data directories, compact logs, remove expired delegation tokens
and keep the catalogue's log short: created when first needed, stopped together.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.config.resources.log_configs import log_config
from barnabas.broker.runtime.log_lines import logger
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import Deferred

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.delegation_tokens.expiring import Expiring
    from barnabas.broker.metadata.delegation_tokens.tokens import Tokens
    from barnabas.broker.partitions.cleaning.log_cleaner import LogCleaner
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.log_dir_moves import LogDirMoves
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.purgatory import Purgatory
    from barnabas.broker.runtime.clock import Clock, Stopwatch
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work
    from barnabas.broker.runtime.workers.workers import Workers


_log = logger("catalogue")
_SNAPSHOT = WorkClass(under_way_max=1, may_begin_again=False, first_ms=0)


class Needs(NamedTuple):
    """The objects that the background jobs need."""

    partitions: Partitions
    catalogue: Catalogue
    config: BrokerConfig
    flush: GroupFlush
    waiters: Purgatory
    clock: Clock
    machine_clock: Clock
    stopwatch: Stopwatch
    loop: AbstractEventLoop
    upkeep: CooperativeScheduler
    workers: Workers
    random_bytes: Callable[[int], bytes]
    events: Events
    tokens: Tokens | None


class Maintenance:
    """The moves, the cleaner, the expiry of tokens and the catalogue's snapshots of one broker."""

    def __init__(self, needs: Needs) -> None:
        self.moves: Deferred[LogDirMoves] = Deferred(self._open_moves)
        self.cleaner: Deferred[LogCleaner] = Deferred(self._open_cleaner)
        self._needs = needs
        self._expiring: Expiring | None = None
        self._is_closed = False

    def start(self) -> None:
        """Start the cleaner after log.cleaner.backoff.ms, and the removal of expired tokens if tokens are enabled."""
        self._needs.clock.call_later(self._needs.config.integer("log.cleaner.backoff.ms"), self._start_cleaner)
        if self._needs.tokens is not None:
            self._expiring = self._open_expiring(self._needs.tokens)
            self._expiring.start()
        self._needs.catalogue.journal.keep_short(self._begin_snapshot)

    def close(self) -> None:
        """Stop all jobs, because the broker stops; cancel the work in progress."""
        self._is_closed = True
        if self.moves.built is not None:
            self.moves.built.close()
        if self.cleaner.built is not None:
            self.cleaner.built.stop()
        if self._expiring is not None:
            self._expiring.stop()

    @property
    def is_busy(self) -> bool:
        """Whether a file is being copied or synced in a thread."""
        moves, cleaner = self.moves.built, self.cleaner.built
        return (
            (moves is not None and moves.is_copying)
            or (cleaner is not None and cleaner.is_syncing)
            or self._needs.catalogue.journal.is_in_thread
        )

    def _begin_snapshot(self, steps: Callable[[], Work[None]]) -> None:
        if self._is_closed:
            return
        begun = self._needs.upkeep.in_slices(steps, _SNAPSHOT)
        assert begun is not None, "its first slice is in another turn"
        begun.add_done_callback(_log_mistake)

    def _start_cleaner(self) -> None:
        if not self._is_closed:
            self.cleaner.get().start()

    def _open_expiring(self, tokens: Tokens) -> Expiring:
        from barnabas.broker.metadata.delegation_tokens.expiring import Expiring

        interval_ms = self._needs.config.integer("delegation.token.expiry.check.interval.ms")
        return Expiring(tokens, self._needs.clock, interval_ms)

    def _open_moves(self) -> LogDirMoves:
        from barnabas.broker.partitions.log_dir_moves import LogDirMoves

        needs = self._needs
        return LogDirMoves(
            needs.partitions,
            needs.catalogue,
            needs.flush,
            needs.waiters,
            needs.clock,
            needs.machine_clock,
            needs.loop,
            needs.random_bytes,
            lambda: needs.config.integer("log.segment.delete.delay.ms"),
        )

    def _open_cleaner(self) -> LogCleaner:
        from barnabas.broker.partitions.cleaning.cleaning_round import CleanerContext
        from barnabas.broker.partitions.cleaning.log_cleaner import LogCleaner
        from barnabas.broker.partitions.cleaning.settings import CleanerSettings

        needs = self._needs
        return LogCleaner(
            CleanerContext(
                needs.partitions,
                CleanerSettings(needs.config),
                needs.clock,
                needs.stopwatch,
                needs.upkeep,
                needs.workers,
                self._is_moving,
                self._is_compacted,
                set(),
                needs.events,
            )
        )

    def _is_compacted(self, name: str) -> bool:
        topic = self._needs.catalogue.topics.get(name)
        return topic is not None and log_config(self._needs.config, topic.configs).is_compacted

    def _is_moving(self, key: tuple[str, int]) -> bool:
        moves = self.moves.built
        return moves is not None and key in moves.under_way()


def _log_mistake(snapshot: Future[None]) -> None:
    """Log an error of a snapshot, which is a bug; the catalogue continues with its current log."""
    if not snapshot.cancelled() and (mistake := snapshot.exception()) is not None:
        _log.error("the snapshot of the catalogue failed", exc_info=mistake)

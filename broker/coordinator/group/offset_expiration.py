"""The expiration of old offsets at intervals of the clock, in slices, in the loaded partitions.

`decisions/offset_removal.py` goes through the groups, and `decisions/offsets/committed_offsets.py` decides which
offsets expire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from barnabas.broker.coordinator.group.decisions import offset_removal
from barnabas.broker.coordinator.group.decisions.classic.model import GroupConfig
from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome
from barnabas.broker.coordinator.group.group_partition import GroupPartition
from barnabas.broker.runtime.clock import Clock, Timer
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import CooperativeScheduler, WorkClass
from barnabas.protocol.errors import KafkaError
from barnabas.storage.steps import Steps

_log = logger("coordinator")

EXPIRED_IN_A_TURN = 300
"""How many groups are checked for old offsets before other work gets its turn: some milliseconds."""
_EXPIRY = WorkClass(steps_max=EXPIRED_IN_A_TURN, slice_ms=5, may_begin_again=False)


class OffsetExpiration:
    """The expiration of the offsets of all groups of one broker."""

    def __init__(
        self,
        config: GroupConfig,
        clock: Clock,
        upkeep: CooperativeScheduler,
        loaded: Callable[[], Iterable[GroupPartition]],
        execute: Callable[[GroupPartition, str, AnyOutcome], object],
    ) -> None:
        """Start the timer. `execute` carries out an outcome of a group; it may raise KafkaError."""
        self._config = config
        self._clock = clock
        self._upkeep = upkeep
        self._loaded = loaded
        self._execute = execute
        self._timer: Timer | None = None
        self._arm()

    def close(self) -> None:
        """Cancel the timer: the broker stops."""
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        delay_ms = self._clock.until_next(self._config.offsets_retention_check_interval_ms)
        self._timer = self._clock.call_later(delay_ms, self._expire)

    def _expire(self) -> None:
        """Delete expired offsets in the partitions used in this run; the others wait until they are used."""
        self._arm()
        groups = ((partition, group_id) for partition in self._loaded() for group_id in partition.machine.group_ids())
        self._upkeep.in_slices(lambda: self._expire_all(groups), _EXPIRY)

    def _expire_all(self, groups: Iterator[tuple[GroupPartition, str]]) -> Steps[None]:
        for partition, group_id in groups:
            if not partition.shard.is_closed:
                for outcome in offset_removal.expire(partition.machine, group_id, self._clock.now_ms(), self._config):
                    try:
                        self._execute(partition, group_id, outcome)
                    except KafkaError as refusal:
                        _log.warning(line("offsets not expired", group=group_id, error=refusal))
            yield

"""Periodic election of preferred leaders: `auto.leader.rebalance.enable`, as in Apache Kafka's controller.

Knows nodes and time, no client. The time is that of the clock that clients see, because clients observe the leaders.

Theory of operation: a partition is led by another replica than its preferred one after that was stopped, or after a
reassignment. Every `leader.imbalance.check.interval.seconds`, counted from the start, all such partitions whose
preferred replica is in sync and running get it as their leader, however few they are: Kafka's controller does not use
a percentage any more. They are elected some at a time, with other work of the event loop in between, as Kafka elects
1,000 in a batch of records.

Invariants: one pass at a time. A pass that fails is logged and ends; the next one runs at its regular time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.errors import KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.cluster.topology import ClusterTopology, PartitionKey
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.storage.steps import Steps

_log = logger("cluster")

ELECTED_IN_A_TURN = 100
_PASS = WorkClass(under_way_max=1, may_begin_again=False)


class LeaderBalance:
    """The preferred leader election of the nodes of one process, for as long as the process runs."""

    def __init__(
        self, nodes: ClusterTopology, config: BrokerConfig, clock: Clock, upkeep: CooperativeScheduler
    ) -> None:
        self._nodes = nodes
        self._clock = clock
        self._upkeep = upkeep
        self._interval_ms = config.integer("leader.imbalance.check.interval.seconds") * 1000
        self._is_under_way = False
        if config.boolean("auto.leader.rebalance.enable"):
            self._later()

    def _later(self) -> None:
        self._clock.call_later(self._clock.until_next(self._interval_ms), self._check)

    def _check(self) -> None:
        if self._upkeep.is_closed:
            return
        self._later()
        if not self._is_under_way:
            self._is_under_way = True
            self._upkeep.in_slices(self._elect_all, _PASS)

    def _elect_all(self) -> Steps[None]:
        wanted: list[PartitionKey] = []
        try:
            for topic in self._nodes.topics:
                wanted += ((topic, number) for number in self._nodes.unbalanced(topic))
                while len(wanted) >= ELECTED_IN_A_TURN:
                    self._elect(wanted[:ELECTED_IN_A_TURN])
                    del wanted[:ELECTED_IN_A_TURN]
                    yield
                yield
            self._elect(wanted)
        except (KafkaError, StorageError) as error:
            _log.error(line("preferred leaders not elected", reason=error))
        finally:
            self._is_under_way = False

    def _elect(self, wanted: list[PartitionKey]) -> None:
        """Elect the preferred leaders. Some topics may have been deleted meanwhile, and some leaders changed."""
        self._nodes.elect(self._nodes.there(wanted), preferred=True)

"""Preferred leaders are elected every so often: `auto.leader.rebalance.enable`, as Apache Kafka's controller does it.

Knows nodes and time, no client. The time is the clock's that clients are told, since it is they who see leaders move.

Theory of operation: a partition is led by another than its preferred replica after that was stopped, or after a
reassignment. Every `leader.imbalance.check.interval.seconds`, from the start on, all such partitions whose preferred
replica is in sync and runs by now get it as their leader, however few they are: Kafka's controller looks at no
percentage any more. They are elected some at a time, with other work of the loop in between, as Kafka elects 1,000
in a batch of records.

Invariants: one pass at a time. A pass that fails is told in the log and ends; the next is made when its time comes.
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
    """Of the nodes of one process, for as long as that runs."""

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
        """Some topics may have been deleted since, and some leaders moved."""
        self._nodes.elect(self._nodes.there(wanted), preferred=True)

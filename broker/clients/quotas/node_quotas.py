"""The quotas of clients that one node enforces: nothing while there are none, and what each client uses once there are.

Follows the catalogue. Whoever serves requests asks `in_force` when it makes its entries, and makes them again when
that is switched on or off (`when_switched`): so nothing is measured, and nothing costs, while there is no quota.

Each node has its own, as each broker of a cluster does: a client that talks to three nodes may use three times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.clients.quotas.in_force import InForce
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.image.client_quotas import ClientQuotas
    from barnabas.broker.runtime.clock import Clock, Stopwatch


class NodeQuotas:
    """Those of one node."""

    def __init__(self, stored: ClientQuotas, config: BrokerConfig, clock: Clock, stopwatch: Stopwatch) -> None:
        """clock: what throttles go by, which clients are told. stopwatch: what a request costs."""
        self._stored, self._config, self._clock, self._stopwatch = stored, config, clock, stopwatch
        self._made: InForce | None = None
        self.in_force: InForce | None = None
        """None while there is no quota of clients."""
        self.when_switched: list[Callable[[], None]] = []
        """Called when quotas come into force, and when the last is gone. Must not raise."""
        stored.when_changed.append(self._follow)
        self._follow()

    def admission(self, is_strict: bool) -> Callable[[int], None] | None:
        """What is to admit the partitions that the request in hand creates or deletes; None where all are.

        is_strict: it raises KafkaError THROTTLING_QUOTA_EXCEEDED; else the client only waits.
        """
        return None if self.in_force is None else self.in_force.admission(is_strict)

    def admission_for_metadata(self) -> Callable[[int], None] | None:
        """The same for topics that are created because somebody asks about them: refused, and nobody waits for it."""
        return None if self.in_force is None else self.in_force.admission(is_strict=True, waits=False)

    def let_go(self) -> None:
        """The node stops: nobody is held back any more."""
        if self._made is not None:
            self._made.muting.close()

    def come_back(self) -> None:
        """The node was stopped, and starts again."""
        if self._made is not None:
            self._made.muting.open()

    def _follow(self) -> None:
        before = self.in_force
        if any(kind != "ip" for entity in self._stored.entities for kind, _ in entity):
            if self._made is None:
                from barnabas.broker.clients.quotas.in_force import InForce  # most brokers have no quotas

                self._made = InForce(self._config, self._clock, self._stopwatch)
            self._made.follow(self._stored.entities)
            self.in_force = self._made
        elif self._made is not None:
            self._made.follow({})
            self.in_force = None
        if self.in_force is not before:
            for tell in self.when_switched:
                tell()

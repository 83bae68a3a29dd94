"""The quotas of clients that one node enforces: nothing while no quota is set, and each client's usage once one is.

Follows the catalogue. The code that serves requests checks `in_force` when it creates its entries, and creates them
again when that is switched on or off (`when_switched`): so without quotas nothing is measured, at no cost.

Each node has its own, like each broker of a cluster: a client that uses three nodes may use three times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.clients.quotas.quota_managers import MeasuredRequest, QuotaManagers
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.image.client_quotas import ClientQuotas
    from barnabas.broker.runtime.clock import Clock, Stopwatch


class NodeQuotas:
    """The client quotas of one node."""

    def __init__(self, stored: ClientQuotas, config: BrokerConfig, clock: Clock, stopwatch: Stopwatch) -> None:
        """Create the quotas. clock: for throttle times, seen by clients. stopwatch: measures a request's cost."""
        self._stored, self._config, self._clock, self._stopwatch = stored, config, clock, stopwatch
        self._made: QuotaManagers | None = None
        self.in_force: QuotaManagers | None = None
        """None while no client quota is set."""
        self.when_switched: list[Callable[[], None]] = []
        """Called when quotas come into force, and when the last is removed. Must not raise."""
        stored.when_changed.append(self._follow)
        self._follow()

    def admission(self, measured: MeasuredRequest | None, is_strict: bool) -> Callable[[int], None] | None:
        """Return the function that admits the partitions created or deleted by a request; None if all are.

        is_strict: it raises KafkaError THROTTLING_QUOTA_EXCEEDED; else the client is only throttled.
        """
        in_force = self.in_force
        return None if in_force is None or measured is None else in_force.admission(measured, is_strict)

    def admission_for_metadata(self, measured: MeasuredRequest | None) -> Callable[[int], None] | None:
        """Return the same for topics created by a Metadata request: refused, and the client is not throttled."""
        in_force = self.in_force
        return None if in_force is None or measured is None else in_force.admission(measured, True, waits=False)

    def let_go(self) -> None:
        """Release all muted connections, because the node stops."""
        if self._made is not None:
            self._made.muting.close()

    def come_back(self) -> None:
        """Allow muting again, because the stopped node starts."""
        if self._made is not None:
            self._made.muting.open()

    def _follow(self) -> None:
        before = self.in_force
        if any(kind != "ip" for entity in self._stored.entities for kind, _ in entity):
            if self._made is None:
                from barnabas.broker.clients.quotas.quota_managers import QuotaManagers  # most brokers have no quotas

                self._made = QuotaManagers(self._config, self._clock, self._stopwatch)
            self._made.follow(self._stored.entities)
            self.in_force = self._made
        elif self._made is not None:
            self._made.follow({})
            self.in_force = None
        if self.in_force is not before:
            for notify in self.when_switched:
                notify()

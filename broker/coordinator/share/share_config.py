"""The share coordinator's settings in the broker's configuration, as a value: the decisions know no keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig

_INTERVAL_MS = 300_000
"""The default of two settings that Kafka calls internal, and that are not offered here."""


class ShareCoordinatorConfig(NamedTuple):
    """The settings of a share coordinator."""

    updates_per_snapshot: int = 500
    write_timeout_ms: int = 5_000
    prune_interval_ms: int = _INTERVAL_MS
    """How often records that are not needed any more are deleted."""
    repeat_interval_ms: int = _INTERVAL_MS
    """How old the last snapshot of a share partition may be."""


def share_coordinator_config(config: BrokerConfig) -> ShareCoordinatorConfig:
    """Return the current values of the configuration keys."""
    return ShareCoordinatorConfig(
        updates_per_snapshot=config.integer("share.coordinator.snapshot.update.records.per.snapshot"),
        write_timeout_ms=config.integer("share.coordinator.write.timeout.ms"),
    )

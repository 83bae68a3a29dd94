"""The transaction settings of the broker's configuration, as a value: the decisions know no configuration keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.decisions.model import TransactionConfig

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig


def transaction_config(config: BrokerConfig) -> TransactionConfig:
    """Return the current values of the configuration keys."""
    return TransactionConfig(
        max_timeout_ms=config.integer("transaction.max.timeout.ms"),
        expiration_ms=config.integer("transactional.id.expiration.ms"),
        abort_check_interval_ms=config.integer("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
        remove_check_interval_ms=config.integer("transaction.remove.expired.transaction.cleanup.interval.ms"),
        two_phase_commit_enabled=config.boolean("transaction.two.phase.commit.enable"),
        partition_verification_enabled=config.boolean("transaction.partition.verification.enable"),
        add_partitions_retry_backoff_ms=config.integer("add.partitions.to.txn.retry.backoff.ms"),
        add_partitions_retry_backoff_max_ms=config.integer("add.partitions.to.txn.retry.backoff.max.ms"),
    )

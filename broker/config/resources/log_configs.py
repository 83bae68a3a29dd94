"""A topic's settings for its partitions: from text under Kafka's names to `storage/config.py.LogConfig`."""

from collections.abc import Mapping
from typing import Any

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.resources.replicas import REPLICATION_FACTOR, effective_min_insync_replicas
from barnabas.broker.config.resources.topic_configs import effective
from barnabas.storage.config import LogConfig

_NAMES = {field: field.replace("_", ".") for field in LogConfig._fields}


def log_config(config: BrokerConfig, own: Mapping[str, str]) -> LogConfig:
    """Return the settings in force for a topic with the settings `own`."""
    values: dict[str, Any] = {field: effective(own, config, name) for field, name in _NAMES.items()}
    values["cleanup_policy"] = frozenset(values["cleanup_policy"])
    values["min_insync_replicas"] = effective_min_insync_replicas(values["min_insync_replicas"], REPLICATION_FACTOR)
    return LogConfig(**values)

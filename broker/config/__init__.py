"""Configuration under Kafka's names: the broker's keys, a topic's keys, where their values come from."""

from barnabas.broker.config.broker_config import BrokerConfig, ConfigError, Source, Synonym
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.config.load import LoadedConfig, load_config

__all__ = ["BrokerConfig", "ConfigError", "Listener", "LoadedConfig", "Source", "Synonym", "load_config"]

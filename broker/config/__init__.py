"""Configuration under Kafka's names: the keys of brokers and topics, and the sources of their values."""

from barnabas.broker.config.broker_config import BrokerConfig, ConfigError, Synonym, ValueSource
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.config.load import LoadedConfig, load_config

__all__ = ["BrokerConfig", "ConfigError", "Listener", "LoadedConfig", "Synonym", "ValueSource", "load_config"]

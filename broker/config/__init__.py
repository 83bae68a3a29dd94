"""Configuration under Kafka's names: the keys of brokers and topics, and the sources of their values."""

from barnabas.broker.config.broker_config import BrokerConfig, ConfigError, Source, Synonym
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.config.load import LoadedConfig, load_config

__all__ = ["BrokerConfig", "ConfigError", "Listener", "LoadedConfig", "Source", "Synonym", "load_config"]

"""The settings in force for one listener: its own, or else the whole broker's (KIP-103).

Reads the `BrokerConfig` at each call, so changes at run time take effect.
"""

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.definitions.values import Value
from barnabas.broker.config.listeners.listener_keys import PREFIX


class ListenerSettings:
    """The settings in force for one listener."""

    __slots__ = ("_config", "_prefix", "listener")

    def __init__(self, config: BrokerConfig, listener: str) -> None:
        """Read the settings of `listener`, its name in any case, from `config`."""
        self.listener = listener
        self._config = config
        self._prefix = f"{PREFIX}{listener.lower()}."

    def name(self, key: str) -> str:
        """Return the name under which the key is in force, for messages."""
        own = self._prefix + key
        return own if self._config.is_set(own) else key

    def is_set(self, key: str) -> bool:
        """Return whether a value was given, to the listener or to the whole broker."""
        return self._config.is_set(self.name(key))

    def value(self, key: str) -> Value:
        """Return the parsed value; None if the key has neither a value nor a default."""
        return self._config.value(self.name(key))

    def text(self, key: str) -> str | None:
        """Return the value as it was written."""
        return self._config.text(self.name(key))

    def integer(self, key: str) -> int:
        return self._config.integer(self.name(key))

    def boolean(self, key: str) -> bool:
        return self._config.boolean(self.name(key))

    def strings(self, key: str) -> list[str]:
        """Return the elements of a list; empty if it is not set."""
        return self._config.strings(self.name(key))

    def of_mechanism(self, mechanism: str, key: str) -> Value:
        """Return the value for one SASL mechanism of this listener; None if it is not set: there is no fallback."""
        own = f"{self._prefix}{mechanism.lower()}.{key}"
        return self._config.value(own) if self._config.is_set(own) else None

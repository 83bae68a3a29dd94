"""What is in force for one listener: its own setting where there is one, otherwise the whole broker's (KIP-103).

Knows a `BrokerConfig`, and asks it at each call: what changes while the broker runs is seen.
"""

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.definitions.values import Value
from barnabas.broker.config.listeners.listener_keys import PREFIX


class ListenerSettings:
    """What is in force for one listener."""

    __slots__ = ("_config", "_prefix", "listener")

    def __init__(self, config: BrokerConfig, listener: str) -> None:
        """`listener`: its name, in any case."""
        self.listener = listener
        self._config = config
        self._prefix = f"{PREFIX}{listener.lower()}."

    def name(self, key: str) -> str:
        """Under which name the key is in force: what a message names."""
        own = self._prefix + key
        return own if self._config.is_set(own) else key

    def is_set(self, key: str) -> bool:
        """Whether a value was given, to the listener or to the whole broker."""
        return self._config.is_set(self.name(key))

    def value(self, key: str) -> Value:
        """The value, parsed; None where the key has neither value nor default."""
        return self._config.value(self.name(key))

    def text(self, key: str) -> str | None:
        """The value as it was written."""
        return self._config.text(self.name(key))

    def integer(self, key: str) -> int:
        return self._config.integer(self.name(key))

    def boolean(self, key: str) -> bool:
        return self._config.boolean(self.name(key))

    def strings(self, key: str) -> list[str]:
        """The elements of a list; none when it is not set."""
        return self._config.strings(self.name(key))

    def of_mechanism(self, mechanism: str, key: str) -> Value:
        """The value for one SASL mechanism of this listener; None where it is not set: no other stands in for it."""
        own = f"{self._prefix}{mechanism.lower()}.{key}"
        return self._config.value(own) if self._config.is_set(own) else None

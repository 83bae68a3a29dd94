"""How many connections may come in, and how fast: the settings and quotas of a listener and of an address.

Knows neither connections nor sockets. Invariant: limits are computed from settings and quotas once, and again only when
these have changed. So a connection that comes in costs the same for any number of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.broker.clients.quotas.connection_rates import NO_LIMIT
from barnabas.broker.config.listeners.connection_limits import OVERRIDES, parsed_address, parsed_overrides
from barnabas.broker.config.sasl.listener_settings import ListenerSettings

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.image.client_quotas import ClientQuotas

CREATION_RATE: Final = "max.connection.creation.rate"
CONNECTIONS_MAX: Final = "max.connections"
OF_ADDRESSES: Final = "connection_creation_rate"


class ListenerLimits(NamedTuple):
    """The limits of one listener, and those of the whole broker as they apply to this listener."""

    rate: int
    """How many connections a second may come in."""
    broker_rate: int
    """How many a second may come to the whole broker."""
    counts_for_broker: bool
    connections_max: int
    """How many there may be; the whole broker's limit is checked by the listener that accepts them."""


class ConnectionLimits:
    """The limits in force on one node."""

    def __init__(self, config: BrokerConfig, quotas: ClientQuotas) -> None:
        self._config, self._quotas = config, quotas
        self._settings_seen = self._quotas_seen = -1
        self._listeners: dict[str, ListenerLimits] = {}
        self._overrides: Mapping[str, int] = {}
        self._rates: dict[str, int] = {}
        self._default_rate = NO_LIMIT

    @property
    def has_quotas(self) -> bool:
        """Whether there is a quota of any kind."""
        return bool(self._quotas.entities)

    def of_listener(self, name: str) -> ListenerLimits:
        """Return the limits of one listener."""
        self._follow_settings()
        limits = self._listeners.get(name)
        if limits is None:
            limits = self._listeners[name] = _of_listener(self._config, name)
        return limits

    def connections_of(self, address: str) -> int:
        """Return how many connections there may be from an address."""
        self._follow_settings()
        return self._overrides.get(address, self._config.integer("max.connections.per.ip"))

    def rate_of(self, address: str) -> int:
        """Return how many connections a second may come from an address."""
        if self._quotas_seen != self._quotas.changes:
            self._quotas_seen = self._quotas.changes
            self._follow_quotas()
        return self._rates.get(address, self._default_rate)

    def _follow_settings(self) -> None:
        if self._settings_seen != self._config.changes:
            self._settings_seen = self._config.changes
            self._listeners.clear()
            self._overrides = parsed_overrides(self._config.text(OVERRIDES) or "")

    def _follow_quotas(self) -> None:
        self._rates.clear()
        self._default_rate = NO_LIMIT
        for entity, values in self._quotas.entities.items():
            if len(entity) == 1 and entity[0][0] == "ip" and OF_ADDRESSES in values:
                rate, named = int(min(values[OF_ADDRESSES], NO_LIMIT)), entity[0][1]
                if named is None:
                    self._default_rate = rate
                elif (address := parsed_address(named)) is not None:
                    self._rates.setdefault(address, rate)


def _of_listener(config: BrokerConfig, name: str) -> ListenerLimits:
    own = ListenerSettings(config, name)
    # The listener between brokers, where clients have another one: these limits must not keep brokers out.
    between_brokers = (config.text("inter.broker.listener.name") or "PLAINTEXT").upper()
    return ListenerLimits(
        rate=own.integer(CREATION_RATE),
        broker_rate=config.integer(CREATION_RATE),
        counts_for_broker=name != between_brokers or len(config.listeners) == 1,
        connections_max=NO_LIMIT if own.name(CONNECTIONS_MAX) == CONNECTIONS_MAX else own.integer(CONNECTIONS_MAX),
    )

"""The broker's configuration: the value in force of each key, and its source.

The first layer that has the key wins: set for this broker at run time, set for the whole cluster at run time (both
come from the catalogue, see `follow`), given at start, default. The values given at start are themselves a stack, see
`load.py`. Values are checked when they enter a layer, so reading one cannot fail.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.config.definitions.keys import KEYS, Key, Update
from barnabas.broker.config.definitions.values import Value, check, in_force, parse
from barnabas.broker.config.listeners.listener_keys import key_within, row_of_listener
from barnabas.broker.config.listeners.listeners import (
    Listener,
    check_advertised,
    check_ports,
    parse_listeners,
    parse_protocol_map,
)

if TYPE_CHECKING:
    from barnabas.protocol.security.jaas import LoginModule


class ConfigError(ValueError):
    """An unusable configuration. str() names the key and the reason; `key` is the key to look at, if there is one."""

    def __init__(self, sentence: str, key: str | None = None) -> None:
        super().__init__(sentence)
        self.key = key


class ValueSource(IntEnum):
    """The source of a value, with its number in DescribeConfigs."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Synonym(NamedTuple):
    """One value that a key could have, from one source. DescribeConfigs lists them, the one in force first."""

    name: str
    value: str | None
    source: ValueSource


# Keys that are alternatives for each other; the first that is set wins. Each name lists the whole chain, as Kafka does.
SYNONYMS: dict[str, tuple[str, ...]] = {
    name: chain
    for chain in (
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    for name in chain
}

_OTHER_NAME = {"node.id": "broker.id", "broker.id": "node.id"}


def find_key(name: str) -> Key | None:
    """Return the row of one of Apache Kafka's broker keys, with or without effect here; None for an unknown key.

    Also finds the key of a single listener, whose row is made here.
    """
    key = KEYS.get(name)
    if key is None:
        within = key_within(name)
        if within is not None:
            key = find_key(within)
            return None if key is None else row_of_listener(name, key)
        from barnabas.broker.config.definitions.ignored_keys import ACCEPTED, THROTTLED_RATES

        key = ACCEPTED.get(name) or THROTTLED_RATES.get(name)
    return key


def parse_value(key: Key, text: str) -> Value:
    """Return the checked value of `text`. InvalidValue if the key cannot have it."""
    value = parse(key.name, key.type, text)
    check(key.name, value, key.check)
    return in_force(value, key.check)


def is_dynamic(name: str, text: str) -> bool:
    """Return whether a key may get this value at run time. InvalidValue for a value that the key cannot have."""
    key = find_key(name)
    if key is None or key.update is Update.READ_ONLY:
        return False
    parse_value(key, text)
    return True


class BrokerConfig:
    """The values in force, under Kafka's names. Reading an unknown key raises KeyError: that is a bug in this code."""

    def __init__(
        self,
        static: Mapping[str, str] | None = None,
        *,
        cluster_id: str | None = None,
        is_container: bool = False,
        login_modules: "Mapping[str, Sequence[LoginModule]] | None" = None,
    ) -> None:
        """Store the values given at start, already checked (`load.py`), as `static`.

        cluster_id: the cluster id for a new data directory; any if None. is_container: connections from the default
        gateway come from the machine around this container. login_modules: the modules of a JAAS file, by section.
        """
        self.login_modules = login_modules or {}
        self.allowed_token_urls: frozenset[str] | None = None
        """The list of URLs in KAFKA_OPTS from which Kafka may load token keys; None without such a list."""
        self.cluster_id = cluster_id
        self.is_container = is_container
        self.static: Mapping[str, str] = _node_under_both_names(static or {})
        self.per_broker: Mapping[str, str] = {}
        self.cluster_wide: Mapping[str, str] = {}
        self._values: dict[str, Value] = {}
        self.objections: list[Callable[[BrokerConfig], str | None]] = []
        """Called with the configuration that a run-time change would make; return why it may not be made, or None."""
        self.when_followed: list[Callable[[], None]] = []
        """Called when such changes are in force."""
        self.changes = 0
        """The number of changes of values: results derived from them are valid while it stays the same."""

    def follow(self, per_broker: Mapping[str, str], cluster_wide: Mapping[str, str]) -> None:
        """Apply the settings made at run time, as the catalogue has them, for this broker and for the whole cluster."""
        self.per_broker = per_broker
        self.cluster_wide = cluster_wide
        self._values.clear()
        self.changes += 1
        for followed in self.when_followed:
            followed()

    def layers(self) -> tuple[tuple[ValueSource, Mapping[str, str]], ...]:
        """Return the layers above the defaults, the strongest first."""
        return (
            (ValueSource.DYNAMIC_BROKER, self.per_broker),
            (ValueSource.DYNAMIC_DEFAULT_BROKER, self.cluster_wide),
            (ValueSource.STATIC_BROKER, self.static),
        )

    def is_set(self, name: str) -> bool:
        """Return whether a value was given, whatever the default is."""
        return any(name in layer for _, layer in self.layers())

    def text(self, name: str) -> str | None:
        """Return the value as it was written."""
        for _, layer in self.layers():
            if name in layer:
                return layer[name]
        return _key(name).default

    def value(self, name: str) -> Value:
        """Return the parsed value; None if the key has neither a value nor a default."""
        if name not in self._values:
            text = self.text(name)
            self._values[name] = None if text is None else parse_value(_key(name), text)
        return self._values[name]

    def integer(self, name: str) -> int:
        value = self.value(name)
        assert type(value) is int, name
        return value

    def boolean(self, name: str) -> bool:
        value = self.value(name)
        assert type(value) is bool, name
        return value

    def string(self, name: str) -> str:
        value = self.value(name)
        assert type(value) is str, name
        return value

    def strings(self, name: str) -> list[str]:
        """Return the elements of a list; empty if it is not set."""
        value = self.value(name)
        assert value is None or type(value) is list, name
        return value or []

    def synonyms(self, name: str) -> list[Synonym]:
        """Return every value given to the key or to one of its alternatives, the one in force first."""
        chain = SYNONYMS.get(name, (name,))
        found = [Synonym(key, layer[key], source) for source, layer in self.layers() for key in chain if key in layer]
        for key in chain:
            default = _key(key).default
            if default is not None:
                found.append(Synonym(key, default, ValueSource.DEFAULT))
        return found

    # --- values made of more than one key ---

    @property
    def node_id(self) -> int:
        return self.integer("node.id")

    @property
    def data_dirs(self) -> list[str]:
        """The directories of the partitions, without duplicates."""
        return list(dict.fromkeys(self.strings("log.dirs") or self.strings("log.dir")))

    @property
    def metadata_dir(self) -> str:
        """The directory of the catalogue: usually the first of `data_dirs`."""
        named = self.value("metadata.log.dir")
        return named if isinstance(named, str) and named else self.data_dirs[0]

    @property
    def listeners(self) -> list[Listener]:
        """The addresses to listen on, without those of controllers. ValueError if they exclude each other."""
        return self._without_controllers(self._addresses("listeners", check_ports))

    @property
    def configured_advertised_listeners(self) -> list[Listener]:
        """The addresses in advertised.listeners, perhaps not for every listener. ValueError for an unusable one."""
        return self._without_controllers(self._addresses("advertised.listeners", check_advertised))

    def advertised(self, listener: Listener) -> Listener | None:
        """Return the advertised address of a listener; None for the address that the client connected to.

        Port 0 means the bound port. A listener on a host name is advertised under that name, as in Kafka.
        """
        for advertised in self.configured_advertised_listeners:
            if advertised.name == listener.name:
                return advertised if advertised.host else None
        return listener if listener.host and listener.ip_version is None else None

    @property
    def advertised_listeners(self) -> list[Listener]:
        """An address for every listener, for the catalogue, which has no client connection to take an address from."""
        return [self.advertised(listener) or _local(listener) for listener in self.listeners]

    def _addresses(self, key: str, check: Callable[[str, list[Listener]], None]) -> list[Listener]:
        protocols = parse_protocol_map(self.string("listener.security.protocol.map"))
        protocols.update({name: "PLAINTEXT" for name in self._controllers() if name not in protocols})
        listeners = parse_listeners(key, dict.fromkeys(self.strings(key)), protocols)  # a duplicate counts once
        check(key, listeners)
        return listeners

    def _without_controllers(self, listeners: list[Listener]) -> list[Listener]:
        controllers = self._controllers()
        return [listener for listener in listeners if listener.name not in controllers]

    def _controllers(self) -> set[str]:
        return {name.upper() for name in self.strings("controller.listener.names")}


def _node_under_both_names(static: Mapping[str, str]) -> Mapping[str, str]:
    """Set both node.id and broker.id to the one that was given: they are the same number, as in Kafka."""
    return {**{_OTHER_NAME[name]: text for name, text in static.items() if name in _OTHER_NAME}, **static}


def _key(name: str) -> Key:
    key = find_key(name)
    if key is None:
        raise KeyError(name)
    return key


def _local(listener: Listener) -> Listener:
    return listener._replace(host="localhost") if listener.is_every_interface else listener

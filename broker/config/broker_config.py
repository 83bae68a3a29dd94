"""The broker's configuration: which value of which key is in force, and where it comes from.

Layers, the first that has the key wins: set for this broker while running, set for the whole cluster while running
(both come from the catalogue, see `follow`), given at start, default. What was given at start is itself a stack, see
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
    """The configuration cannot be used. str() names the key and says why; `key` is the one to look at, if it is one."""

    def __init__(self, sentence: str, key: str | None = None) -> None:
        super().__init__(sentence)
        self.key = key


class Source(IntEnum):
    """Where a value comes from, with the number DescribeConfigs gives it."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Synonym(NamedTuple):
    """One value a key could have, from one place. DescribeConfigs lists them, the one in force first."""

    name: str
    value: str | None
    source: Source


# Keys that stand in for each other, the first that is set wins. Each name lists the whole chain, as Kafka does.
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
    """The row of a broker key of Apache Kafka's, whether it has an effect here or not; None when there is none.

    Also of one listener's, whose row is made here.
    """
    key = KEYS.get(name)
    if key is None:
        within = key_within(name)
        if within is not None:
            key = find_key(within)
            return None if key is None else row_of_listener(name, key)
        from barnabas.broker.config.definitions.accepted import ACCEPTED, THROTTLED_RATES

        key = ACCEPTED.get(name) or THROTTLED_RATES.get(name)
    return key


def parse_value(key: Key, text: str) -> Value:
    """The checked value of `text`. InvalidValue when the key cannot take it."""
    value = parse(key.name, key.type, text)
    check(key.name, value, key.check)
    return in_force(value, key.check)


def is_dynamic(name: str, text: str) -> bool:
    """Whether a key may be given this value while the broker runs. InvalidValue for one that the key cannot take."""
    key = find_key(name)
    if key is None or key.update is Update.READ_ONLY:
        return False
    parse_value(key, text)
    return True


class BrokerConfig:
    """The values in force. Names are Kafka's; asking for a key that does not exist is a KeyError, a bug of ours."""

    def __init__(
        self,
        static: Mapping[str, str] | None = None,
        *,
        cluster_id: str | None = None,
        is_container: bool = False,
        login_modules: "Mapping[str, Sequence[LoginModule]] | None" = None,
    ) -> None:
        """static: what was given at start, checked already (`load.py`).

        cluster_id: the cluster a new data directory is to begin, any if None. is_container: whoever comes from the
        default gateway is on the machine around this container. login_modules: those of a JAAS file, by its sections.
        """
        self.login_modules = login_modules or {}
        self.allowed_token_urls: frozenset[str] | None = None
        """The list of URLs in KAFKA_OPTS that Kafka may get keys of tokens from; None where there is none."""
        self.cluster_id = cluster_id
        self.is_container = is_container
        self.static: Mapping[str, str] = _node_under_both_names(static or {})
        self.per_broker: Mapping[str, str] = {}
        self.cluster_wide: Mapping[str, str] = {}
        self._values: dict[str, Value] = {}
        self.objections: list[Callable[[BrokerConfig], str | None]] = []
        """Asked why settings made while running may not be taken, with what they would make of this configuration."""
        self.when_followed: list[Callable[[], None]] = []
        """Called when they are in force."""
        self.changes = 0
        """How often values have changed: what is made of them is as good as long as this stays."""

    def follow(self, per_broker: Mapping[str, str], cluster_wide: Mapping[str, str]) -> None:
        """Take over what the catalogue now says was set while running, for this broker and for the whole cluster."""
        self.per_broker = per_broker
        self.cluster_wide = cluster_wide
        self._values.clear()
        self.changes += 1
        for followed in self.when_followed:
            followed()

    def layers(self) -> tuple[tuple[Source, Mapping[str, str]], ...]:
        """The layers above the defaults, the strongest first."""
        return (
            (Source.DYNAMIC_BROKER, self.per_broker),
            (Source.DYNAMIC_DEFAULT_BROKER, self.cluster_wide),
            (Source.STATIC_BROKER, self.static),
        )

    def is_set(self, name: str) -> bool:
        """Whether a value was given, whatever the default is."""
        return any(name in layer for _, layer in self.layers())

    def text(self, name: str) -> str | None:
        """The value as it was written."""
        for _, layer in self.layers():
            if name in layer:
                return layer[name]
        return _key(name).default

    def value(self, name: str) -> Value:
        """The value, parsed; None where the key has neither value nor default."""
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
        """The elements of a list; none when it is not set."""
        value = self.value(name)
        assert value is None or type(value) is list, name
        return value or []

    def synonyms(self, name: str) -> list[Synonym]:
        """Every value the key or one that stands in for it was given, the one in force first."""
        chain = SYNONYMS.get(name, (name,))
        found = [Synonym(key, layer[key], source) for source, layer in self.layers() for key in chain if key in layer]
        for key in chain:
            default = _key(key).default
            if default is not None:
                found.append(Synonym(key, default, Source.DEFAULT))
        return found

    # --- the few that take more than one key ---

    @property
    def node_id(self) -> int:
        return self.integer("node.id")

    @property
    def data_dirs(self) -> list[str]:
        """The directories in which partitions lie, each once."""
        return list(dict.fromkeys(self.strings("log.dirs") or self.strings("log.dir")))

    @property
    def metadata_dir(self) -> str:
        """The directory in which the catalogue lies: usually the first of `data_dirs`."""
        named = self.value("metadata.log.dir")
        return named if isinstance(named, str) and named else self.data_dirs[0]

    @property
    def listeners(self) -> list[Listener]:
        """The addresses to listen on, without a controller's. ValueError when they cannot be had together."""
        return self._without_controllers(self._addresses("listeners", check_ports))

    @property
    def configured_advertised_listeners(self) -> list[Listener]:
        """The addresses advertised.listeners gives, which need not be all. ValueError for one of no use."""
        return self._without_controllers(self._addresses("advertised.listeners", check_advertised))

    def advertised(self, listener: Listener) -> Listener | None:
        """What is advertised for a listener, None for the address a client came in by; port 0 is the one bound.

        A listener on a name is advertised under that name, as it is in Kafka.
        """
        for advertised in self.configured_advertised_listeners:
            if advertised.name == listener.name:
                return advertised if advertised.host else None
        return listener if listener.host and listener.ip_version is None else None

    @property
    def advertised_listeners(self) -> list[Listener]:
        """An address for every listener, for the catalogue: it knows of no connection by which one could come in."""
        return [self.advertised(listener) or _local(listener) for listener in self.listeners]

    def _addresses(self, key: str, check: Callable[[str, list[Listener]], None]) -> list[Listener]:
        protocols = parse_protocol_map(self.string("listener.security.protocol.map"))
        protocols.update({name: "PLAINTEXT" for name in self._controllers() if name not in protocols})
        listeners = parse_listeners(key, dict.fromkeys(self.strings(key)), protocols)  # one given twice is given once
        check(key, listeners)
        return listeners

    def _without_controllers(self, listeners: list[Listener]) -> list[Listener]:
        controllers = self._controllers()
        return [listener for listener in listeners if listener.name not in controllers]

    def _controllers(self) -> set[str]:
        return {name.upper() for name in self.strings("controller.listener.names")}


def _node_under_both_names(static: Mapping[str, str]) -> Mapping[str, str]:
    """node.id and broker.id are one number: whichever was given stands for both, as in Kafka."""
    return {**{_OTHER_NAME[name]: text for name, text in static.items() if name in _OTHER_NAME}, **static}


def _key(name: str) -> Key:
    key = find_key(name)
    if key is None:
        raise KeyError(name)
    return key


def _local(listener: Listener) -> Listener:
    return listener._replace(host="localhost") if listener.is_every_interface else listener

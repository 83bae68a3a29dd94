"""Client metrics configuration (KIP-714): the keys of a subscription, their values and their meaning.

A subscription says which metrics clients push, how often, and which clients do so. Types, defaults and the sentences
of the errors are Kafka 4.4.0's. Patterns are RE2's (`broker/runtime/patterns.py`), Java's in Kafka: features that only
Java has (backreferences, lookaround) are refused.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.broker.config.broker_config import Synonym, ValueSource
from barnabas.broker.config.definitions.values import InvalidValue, Value, ValueType, check_words, parse
from barnabas.broker.runtime.patterns import InvalidPattern, NoEngine, Pattern, compile_pattern
from barnabas.protocol.errors import ErrorCode, KafkaError

EVERY_METRIC = "*"
INTERVAL_MS = 300_000
"""The push interval of a client for which no subscription sets one."""
_INTERVALS_MS = range(100, 3_600_001)
ATTRIBUTES = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""The attributes by which clients are selected."""


class ClientMetricsKey(NamedTuple):
    """One key of a subscription."""

    name: str
    type: ValueType
    default: str
    check: None = None


_TABLE = (
    ClientMetricsKey("interval.ms", ValueType.INT, str(INTERVAL_MS)),
    ClientMetricsKey("match", ValueType.LIST, ""),
    ClientMetricsKey("metrics", ValueType.LIST, ""),
)
CLIENT_METRICS_KEYS = {key.name: key for key in _TABLE}


class ClientMetricsSubscription(NamedTuple):
    """The contents of a subscription. metrics: prefixes of names. match: patterns of a client's attributes, by name."""

    metrics: frozenset[str]
    interval_ms: int
    match: Mapping[str, Pattern]

    def is_for(self, attributes: Mapping[str, str | None]) -> bool:
        """Return whether the subscription applies to a client with these attributes."""
        for name, pattern in self.match.items():
            value = attributes.get(name)
            if value is None or not pattern.matches(value):
                return False
        return True


def validate(name: str, configs: Mapping[str, str]) -> None:
    """Raise KafkaError INVALID_REQUEST or INVALID_CONFIG unless a subscription may have all these settings together."""
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for key in configs:
        if key not in CLIENT_METRICS_KEYS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {key}")
    try:
        values = {key: _checked(key, text) for key, text in configs.items()}
    except InvalidValue as wrong:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(wrong)) from wrong
    interval_ms, patterns = values.get("interval.ms", INTERVAL_MS), values.get("match", [])
    if interval_ms not in _INTERVALS_MS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        )
    assert isinstance(patterns, list)
    _patterns(patterns)


def subscription(configs: Mapping[str, str]) -> ClientMetricsSubscription:
    """Return these settings as a subscription. KafkaError if `validate` refuses them: another Kafka may store such."""
    validate("stored", configs)
    values = {name: _checked(name, configs.get(name, key.default)) for name, key in CLIENT_METRICS_KEYS.items()}
    metrics, interval_ms, patterns = (values[name] for name in ("metrics", "interval.ms", "match"))
    assert isinstance(metrics, list)
    assert isinstance(interval_ms, int)
    assert isinstance(patterns, list)
    return ClientMetricsSubscription(frozenset(metrics), interval_ms, _patterns(patterns))


def _checked(name: str, text: str) -> Value:
    value = parse(name, CLIENT_METRICS_KEYS[name].type, text)
    if isinstance(value, list):
        check_words(name, value)
    return value


def _patterns(wishes: Iterable[str]) -> dict[str, Pattern]:
    found = {}
    for wish in wishes:
        words = wish.rstrip("=").split("=")  # Java omits the empty words at the end
        if len(words) != 2 or words[0].strip() not in ATTRIBUTES:
            raise _illegal(wish)
        try:
            found[words[0].strip()] = compile_pattern(words[1].strip())
        except NoEngine as missing:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(missing)) from missing
        except InvalidPattern as invalid:
            raise _illegal(wish) from invalid
    return found


def _illegal(wish: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {wish}")


def synonyms(own: Mapping[str, str], key: ClientMetricsKey) -> list[Synonym]:
    """Return the value that was given to the subscription itself, if any."""
    return [Synonym(key.name, own[key.name], ValueSource.CLIENT_METRICS)] if key.name in own else []


def effective(own: Mapping[str, str], key: ClientMetricsKey) -> Value:
    """Return the value in force. InvalidValue for an invalid one that another Kafka stored."""
    return parse(key.name, key.type, own.get(key.name, key.default))

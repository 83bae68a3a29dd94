"""Client metrics configuration (KIP-714): the keys of a subscription, what they may be, and what they mean.

A subscription says which metrics clients are to push, how often, and which clients. Types, defaults and the sentences
of the errors are Kafka 4.4.0's. Patterns are RE2's (`broker/runtime/patterns.py`), where Kafka takes Java's: what only
Java has (backreferences, lookaround) is refused.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.broker.config.broker_config import Source, Synonym
from barnabas.broker.config.definitions.values import InvalidValue, Value, ValueType, check_words, parse
from barnabas.broker.runtime.patterns import InvalidPattern, NoEngine, Pattern, compile_pattern
from barnabas.protocol.errors import ErrorCode, KafkaError

EVERY_METRIC = "*"
INTERVAL_MS = 300_000
"""How often a client pushes for which no subscription says so."""
_INTERVALS_MS = range(100, 3_600_001)
ATTRIBUTES = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""What a client can be told by."""


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


class Subscription(NamedTuple):
    """What a subscription asks for. metrics: beginnings of names. match: what each of a client's attributes matches."""

    metrics: frozenset[str]
    interval_ms: int
    match: Mapping[str, Pattern]

    def is_for(self, attributes: Mapping[str, str | None]) -> bool:
        """Whether it asks for the metrics of a client with these attributes."""
        for name, pattern in self.match.items():
            value = attributes.get(name)
            if value is None or not pattern.matches(value):
                return False
        return True


def validate(name: str, configs: Mapping[str, str]) -> None:
    """KafkaError INVALID_REQUEST or INVALID_CONFIG unless a subscription may have all of these settings together."""
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


def subscription(configs: Mapping[str, str]) -> Subscription:
    """What settings mean. KafkaError for what `validate` would refuse: another Kafka may have stored it."""
    validate("stored", configs)
    values = {name: _checked(name, configs.get(name, key.default)) for name, key in CLIENT_METRICS_KEYS.items()}
    metrics, interval_ms, patterns = (values[name] for name in ("metrics", "interval.ms", "match"))
    assert isinstance(metrics, list)
    assert isinstance(interval_ms, int)
    assert isinstance(patterns, list)
    return Subscription(frozenset(metrics), interval_ms, _patterns(patterns))


def _checked(name: str, text: str) -> Value:
    value = parse(name, CLIENT_METRICS_KEYS[name].type, text)
    if isinstance(value, list):
        check_words(name, value)
    return value


def _patterns(wishes: Iterable[str]) -> dict[str, Pattern]:
    found = {}
    for wish in wishes:
        words = wish.rstrip("=").split("=")  # Java leaves away the empty words at the end
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
    """The value that the subscription itself was given, if it was."""
    return [Synonym(key.name, own[key.name], Source.CLIENT_METRICS)] if key.name in own else []


def effective(own: Mapping[str, str], key: ClientMetricsKey) -> Value:
    """The value in force. InvalidValue for one that another Kafka stored and that is none."""
    return parse(key.name, key.type, own.get(key.name, key.default))

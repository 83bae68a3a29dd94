"""Group configuration: the keys of a group, their values, and what a group without its own value inherits.

A group stores only its own settings, as text, whether it exists or not. The value in force is the group's own, else the
broker's value under the name `inherits`, else the default. A value must be inside the bounds that the broker sets for
its groups when it is given; if the bounds change later, the nearest value inside is in force (KIP-1240).

Keys of share groups and streams groups are stored and described, but have no effect here. Types, ranges, defaults and
the sentences of the errors are Kafka 4.4.0's.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from barnabas.broker.config.broker_config import BrokerConfig, Synonym, ValueSource, find_key
from barnabas.broker.config.definitions.values import (
    Check,
    InvalidValue,
    OffsetReset,
    OneOf,
    Range,
    Value,
    ValueType,
    check,
    check_words,
    parse,
)
from barnabas.protocol.errors import ErrorCode, KafkaError

BOOLEAN, STRING, INT, LONG, LIST = (
    ValueType.BOOLEAN,
    ValueType.STRING,
    ValueType.INT,
    ValueType.LONG,
    ValueType.LIST,
)


class GroupKey(NamedTuple):
    """One group configuration key. `inherits` is the broker key whose value a group without its own value has.

    low, high: its bounds, each a broker key or a number. is_internal: Kafka describes it only if it was set.
    """

    name: str
    type: ValueType
    default: str | None
    check: Check = None
    inherits: str | None = None
    low: str | int | None = None
    high: str | int | None = None
    is_internal: bool = False


def _bounded(name: str, default: str, rule: Range, low: str | None = None) -> GroupKey:
    """Return a key KIND.REST between the broker's group.KIND.min.REST, or `low` if given, and group.KIND.max.REST."""
    kind, _, rest = name.partition(".")
    bounds = (low or f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}")
    return GroupKey(name, INT, default, rule, f"group.{name}", *bounds)


def _offload(kind: str) -> GroupKey:
    name = f"{kind}.assignor.offload.enable"
    return GroupKey(name, BOOLEAN, "true", None, f"group.{name}", is_internal=True)


_TABLE = (
    _bounded("consumer.assignment.interval.ms", "1000", Range(0)),
    _offload("consumer"),
    _bounded("consumer.heartbeat.interval.ms", "5000", Range(1)),
    _bounded("consumer.session.timeout.ms", "45000", Range(1)),
    GroupKey("errors.deadletterqueue.copy.record.enable", BOOLEAN, "false"),
    GroupKey("errors.deadletterqueue.topic.name", STRING, ""),
    _bounded("share.assignment.interval.ms", "1000", Range(0)),
    _offload("share"),
    GroupKey("share.auto.offset.reset", STRING, "latest", OffsetReset()),
    _bounded("share.delivery.count.limit", "5", Range(2)),
    _bounded("share.heartbeat.interval.ms", "5000", Range(1)),
    GroupKey("share.isolation.level", STRING, "read_uncommitted", OneOf(("read_committed", "read_uncommitted"))),
    _bounded("share.partition.max.record.locks", "2000", Range(100)),
    _bounded("share.record.lock.duration.ms", "30000", Range(1000)),
    GroupKey("share.renew.acknowledge.enable", BOOLEAN, "true"),
    _bounded("share.session.timeout.ms", "45000", Range(1)),
    GroupKey(
        "streams.acceptable.recovery.lag",
        LONG,
        "10000",
        Range(0),
        "group.streams.acceptable.recovery.lag",
        is_internal=True,
    ),
    _bounded("streams.assignment.interval.ms", "1000", Range(0)),
    GroupKey("streams.assignor.name", STRING, None, None, "group.streams.assignors"),
    _offload("streams"),
    _bounded("streams.heartbeat.interval.ms", "5000", Range(1)),
    GroupKey("streams.initial.rebalance.delay.ms", INT, "3000", Range(0), "group.streams.initial.rebalance.delay.ms"),
    GroupKey(
        "streams.num.standby.replicas",
        INT,
        "0",
        Range(0),
        "group.streams.num.standby.replicas",
        None,
        "group.streams.max.standby.replicas",
    ),
    GroupKey(
        "streams.num.warmup.replicas",
        INT,
        "2",
        Range(0),
        "group.streams.num.warmup.replicas",
        None,
        20,
        is_internal=True,
    ),
    GroupKey("streams.rack.aware.assignment.tags", LIST, "", None, "group.streams.rack.aware.assignment.tags"),
    _bounded("streams.session.timeout.ms", "45000", Range(1)),
    GroupKey(
        "streams.task.offset.interval.ms",
        INT,
        "60000",
        Range(1),
        "group.streams.task.offset.interval.ms",
        15000,
        None,
        is_internal=True,
    ),
)

GROUP_KEYS = {key.name: key for key in _TABLE}
_BOUNDS_IN_ORDER = tuple(
    GROUP_KEYS[name]
    for name in (
        "consumer.heartbeat.interval.ms",
        "consumer.session.timeout.ms",
        "consumer.assignment.interval.ms",
        "share.heartbeat.interval.ms",
        "share.session.timeout.ms",
        "share.record.lock.duration.ms",
        "share.delivery.count.limit",
        "share.partition.max.record.locks",
        "share.assignment.interval.ms",
        "streams.heartbeat.interval.ms",
        "streams.session.timeout.ms",
        "streams.num.standby.replicas",
        "streams.assignment.interval.ms",
        "streams.task.offset.interval.ms",
        "streams.num.warmup.replicas",
    )
)
"""The keys with bounds, in the order in which Kafka checks them."""
_TAGS = "streams.rack.aware.assignment.tags"


def validate(configs: Mapping[str, str], config: BrokerConfig) -> None:
    """Raise KafkaError INVALID_CONFIG unless a group may have all these settings of its own together."""
    try:
        values = {name: _checked(name, text) for name, text in configs.items()}
    except InvalidValue as wrong:
        raise _refused(str(wrong)) from wrong
    for key in _BOUNDS_IN_ORDER:
        if key.name in values:
            _check_bounds(key, values[key.name], config)
    assignor, assignors = values.get("streams.assignor.name"), config.strings("group.streams.assignors")
    if assignor is not None and assignor not in assignors:
        raise _refused(
            f"streams.assignor.name '{assignor}' is not a registered task assignor. "
            f"Registered assignors are: [{', '.join(assignors)}]."
        )
    for kind in ("consumer", "share", "streams"):
        _check_heartbeats(kind, values, config)
    if str(values.get("errors.deadletterqueue.topic.name", "")).startswith("__"):
        raise _refused("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")


def _checked(name: str, text: str) -> Value:
    key = GROUP_KEYS.get(name)
    if key is None:
        raise _refused(f"Unknown group config name: {name}")
    value = parse(name, key.type, text)
    if isinstance(value, list):
        if name == _TAGS and len(set(value)) != len(value):
            raise _refused(f"{_TAGS} must not contain duplicate tag keys.")
        check_words(name, value)
    check(name, value, key.check)
    return value


def _check_bounds(key: GroupKey, value: Value, config: BrokerConfig) -> None:
    low, high = _bounds(key, config)
    assert isinstance(value, int)
    if low is not None and high is not None:
        if not low <= value <= high:
            raise _refused(f"{key.name} must be in the range {low} to {high} inclusive.")
    elif high is not None and value > high:
        raise _refused(f"{key.name} must be less than or equal to {high}")
    elif low is not None and value < low:
        raise _refused(f"{key.name} must be greater than or equal to {low}")


def _bounds(key: GroupKey, config: BrokerConfig) -> tuple[int | None, int | None]:
    low, high = (config.integer(bound) if isinstance(bound, str) else bound for bound in (key.low, key.high))
    return low, high


def _check_heartbeats(kind: str, values: Mapping[str, Value], config: BrokerConfig) -> None:
    session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    if session not in values and heartbeat not in values:
        return
    timeout_ms, interval_ms = (values.get(name, config.integer(f"group.{name}")) for name in (session, heartbeat))
    assert isinstance(timeout_ms, int)
    assert isinstance(interval_ms, int)
    if timeout_ms <= interval_ms:
        raise _refused(f"{session} must be greater than {heartbeat}")


def _refused(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, sentence)


# --- the values in force ---


def described(own: Mapping[str, str]) -> Iterator[GroupKey]:
    """Return the keys that are described for a group with the settings `own`."""
    return (key for key in _TABLE if not key.is_internal or key.name in own)


def effective(own: Mapping[str, str], config: BrokerConfig, key: GroupKey) -> Value:
    """Return the value of a group's key as it was given, by the group or the broker."""
    if key.name in own:
        return parse(key.name, key.type, own[key.name])
    if key.inherits is not None and find_key(key.inherits) is not None:
        value = config.value(key.inherits)
        return value[0] if isinstance(value, list) and key.type is STRING else value
    return None if key.default is None else parse(key.name, key.type, key.default)


def synonyms(own: Mapping[str, str], config: BrokerConfig, key: GroupKey) -> list[Synonym]:
    """Return every value given for the key, the one in force first, as DescribeConfigs lists them."""
    mine = [Synonym(key.name, own[key.name], ValueSource.GROUP)] if key.name in own else []
    if key.inherits is not None and find_key(key.inherits) is not None:
        return mine + config.synonyms(key.inherits)
    return [*mine, Synonym(key.inherits or key.name, key.default, ValueSource.DEFAULT)]


class ConsumerGroupSettings(NamedTuple):
    """The settings in force for one consumer group (KIP-848)."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


def consumer_group_settings(own: Mapping[str, str], config: BrokerConfig) -> ConsumerGroupSettings:
    """Return the settings in force for a group with `own` settings. Unreadable ones from another Kafka are ignored."""
    names = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "consumer.assignment.interval.ms")
    return ConsumerGroupSettings(*(in_bounds(GROUP_KEYS[name], own, config) for name in names))


def in_bounds(key: GroupKey, own: Mapping[str, str], config: BrokerConfig) -> int:
    """Return the value of a key with bounds that is in force for a group with `own` settings."""
    low, high = _bounds(key, config)
    assert low is not None
    assert high is not None
    try:
        value = effective(own, config, key)
    except InvalidValue:
        value = effective({}, config, key)
    assert isinstance(value, int)
    return min(max(value, low), high) if key.name in own else value


# --- the broker's settings for groups ---

_KINDS = ("consumer", "share", "streams")
_BOUNDED = ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
_OF_SHARE_GROUPS = (
    ("max.delivery.count.limit", "delivery.count.limit"),
    ("delivery.count.limit", "min.delivery.count.limit"),
    ("max.partition.max.record.locks", "partition.max.record.locks"),
    ("partition.max.record.locks", "min.partition.max.record.locks"),
    ("record.lock.duration.ms", "min.record.lock.duration.ms"),
    ("max.record.lock.duration.ms", "record.lock.duration.ms"),
    ("max.share.sessions", "max.size"),
)
_Rule = tuple[str, str, str, Callable[[int, int], bool]]


_PROTOCOLS = "group.coordinator.rebalance.protocols"
_SHARE_ASSIGNORS = "group.share.assignors"


def inconsistency(config: BrokerConfig) -> tuple[str, str] | None:
    """Return the first of the broker's settings for groups that contradicts another: its key, and Kafka's sentence."""
    if "classic" not in config.strings(_PROTOCOLS):
        return _PROTOCOLS, f"{_PROTOCOLS}: Disabling the 'classic' protocol is not supported."
    for name, relation, other, holds in _rules():
        if not holds(config.integer(name), config.integer(other)):
            return name, f"{name} must be {relation} {other}"
    if (count := len(config.strings(_SHARE_ASSIGNORS))) != 1:
        return _SHARE_ASSIGNORS, f"{_SHARE_ASSIGNORS} must contain exactly one assignor, but found {count}"
    return None


def _rules() -> Iterator[_Rule]:
    """Yield the rules, in Kafka's order."""
    for kind in _KINDS:
        for rest in _BOUNDED:
            least, most, key = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}", f"group.{kind}.{rest}"
            if rest == "assignment.interval.ms":
                session = f"group.{kind}.session.timeout.ms"
                yield f"group.{kind}.heartbeat.interval.ms", "less than", session, lambda one, other: one < other
            yield most, "greater than or equal to", least, lambda one, other: one >= other
            yield key, "greater than or equal to", least, lambda one, other: one >= other
            yield key, "less than or equal to", most, lambda one, other: one <= other
    yield (
        "group.streams.num.standby.replicas",
        "less than or equal to",
        "group.streams.max.standby.replicas",
        lambda one, other: one <= other,
    )
    yield from (
        (f"group.share.{name}", "greater than or equal to", f"group.share.{other}", lambda one, other: one >= other)
        for name, other in _OF_SHARE_GROUPS
    )

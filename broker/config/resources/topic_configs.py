"""Topic configuration: the keys of a topic, their values, and what a topic without its own value inherits.

A topic stores only its own settings, as text. The value in force is the topic's own, else the broker's value for the
same setting under the broker's name (`retention.ms` is `log.retention.ms`, or `.minutes`, or `.hours`), else the
default. Types, ranges, defaults and the sentences of the errors are Kafka 4.4.0's.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.broker.config.broker_config import SYNONYMS, BrokerConfig, Synonym, ValueSource
from barnabas.broker.config.definitions.values import (
    Check,
    InvalidValue,
    OneOf,
    Range,
    ThrottledReplicas,
    Value,
    ValueType,
    check,
    in_force,
    parse,
)
from barnabas.protocol.errors import ErrorCode, KafkaError

BOOLEAN, STRING, INT, LONG = ValueType.BOOLEAN, ValueType.STRING, ValueType.INT, ValueType.LONG
DOUBLE, LIST = ValueType.DOUBLE, ValueType.LIST

CREATED_PARTITIONS_MAX = 10_000
"""Kafka's limit of partitions that one batch of the controller may create."""
_INT64_MAX = "9223372036854775807"


class TopicKey(NamedTuple):
    """One topic configuration key. `inherits` is the broker key whose value a topic without its own value has."""

    name: str
    type: ValueType
    default: str
    check: Check = None
    inherits: str | None = None


_TABLE = (
    TopicKey("cleanup.policy", LIST, "delete", OneOf(("compact", "delete")), "log.cleanup.policy"),
    TopicKey("compression.gzip.level", INT, "-1", Range(1, 9, or_else=-1), "compression.gzip.level"),
    TopicKey("compression.lz4.level", INT, "9", Range(1, 17), "compression.lz4.level"),
    TopicKey(
        "compression.type",
        STRING,
        "producer",
        OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
        "compression.type",
    ),
    TopicKey("compression.zstd.level", INT, "3", Range(-131072, 22), "compression.zstd.level"),
    TopicKey("delete.retention.ms", LONG, "86400000", Range(0), "log.cleaner.delete.retention.ms"),
    TopicKey("errors.deadletterqueue.group.enable", BOOLEAN, "false"),
    TopicKey("file.delete.delay.ms", LONG, "60000", Range(0), "log.segment.delete.delay.ms"),
    TopicKey("flush.messages", LONG, _INT64_MAX, Range(1), "log.flush.interval.messages"),
    TopicKey("flush.ms", LONG, _INT64_MAX, Range(0), "log.flush.interval.ms"),
    TopicKey(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        ThrottledReplicas("follower.replication.throttled.replicas"),
    ),
    TopicKey("index.interval.bytes", INT, "4096", Range(0), "log.index.interval.bytes"),
    TopicKey(
        "leader.replication.throttled.replicas", LIST, "", ThrottledReplicas("leader.replication.throttled.replicas")
    ),
    TopicKey("local.retention.bytes", LONG, "-2", Range(-2), "log.local.retention.bytes"),
    TopicKey("local.retention.ms", LONG, "-2", Range(-2), "log.local.retention.ms"),
    TopicKey("max.compaction.lag.ms", LONG, _INT64_MAX, Range(1), "log.cleaner.max.compaction.lag.ms"),
    TopicKey(
        "max.decompressed.message.bytes",
        INT,
        "2147483639",
        Range(1, 2147483639),
        "max.decompressed.message.bytes",
    ),
    TopicKey("max.message.bytes", INT, "1048588", Range(0), "message.max.bytes"),
    TopicKey("message.timestamp.after.max.ms", LONG, "3600000", Range(0), "log.message.timestamp.after.max.ms"),
    TopicKey("message.timestamp.before.max.ms", LONG, _INT64_MAX, Range(0), "log.message.timestamp.before.max.ms"),
    TopicKey(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        OneOf(("CreateTime", "LogAppendTime")),
        "log.message.timestamp.type",
    ),
    TopicKey("min.cleanable.dirty.ratio", DOUBLE, "0.5", Range(0, 1), "log.cleaner.min.cleanable.ratio"),
    TopicKey("min.compaction.lag.ms", LONG, "0", Range(0), "log.cleaner.min.compaction.lag.ms"),
    TopicKey("min.insync.replicas", INT, "1", Range(1), "min.insync.replicas"),
    TopicKey("preallocate", BOOLEAN, "false", None, "log.preallocate"),
    TopicKey("remote.copy.lag.bytes", LONG, "-1", Range(-1), "log.remote.copy.lag.bytes"),
    TopicKey("remote.copy.lag.ms", LONG, "0", Range(-1), "log.remote.copy.lag.ms"),
    TopicKey("remote.log.copy.disable", BOOLEAN, "false"),
    TopicKey("remote.log.delete.on.disable", BOOLEAN, "false"),
    TopicKey("remote.storage.enable", BOOLEAN, "false"),
    TopicKey("retention.bytes", LONG, "-1", None, "log.retention.bytes"),
    TopicKey("retention.ms", LONG, "604800000", Range(-1), "log.retention.ms"),
    TopicKey("segment.bytes", INT, "1073741824", Range(1048576), "log.segment.bytes"),
    TopicKey("segment.index.bytes", INT, "10485760", Range(4), "log.index.size.max.bytes"),
    TopicKey("segment.jitter.ms", LONG, "0", Range(0), "log.roll.jitter.ms"),
    TopicKey("segment.ms", LONG, "604800000", Range(1), "log.roll.ms"),
    TopicKey("unclean.leader.election.enable", BOOLEAN, "false", None, "unclean.leader.election.enable"),
)

TOPIC_KEYS = {key.name: key for key in _TABLE}

_MINUTE_MS = 60 * 1000
_MS_IN_UNIT = {"log.retention.minutes": _MINUTE_MS, "log.retention.hours": 60 * _MINUTE_MS} | dict.fromkeys(
    ("log.roll.hours", "log.roll.jitter.hours"), 60 * _MINUTE_MS
)


def validate(configs: Mapping[str, str | None], config: BrokerConfig) -> None:
    """Raise KafkaError INVALID_CONFIG unless a topic may have all these settings of its own together."""
    try:
        nulls = [name for name, text in configs.items() if text is None]
        if nulls:
            raise _refused(f"Null value not supported for topic configs: {','.join(nulls)}")
        values = {name: _checked(name, text) for name, text in configs.items() if text is not None}
    except InvalidValue as wrong:
        raise _refused(str(wrong)) from wrong
    if values.get("remote.storage.enable"):
        raise _refused(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    if "min.compaction.lag.ms" in values or "max.compaction.lag.ms" in values:
        _check_compaction_lags(configs, config)


def _checked(name: str, text: str) -> Value:
    key = TOPIC_KEYS.get(name)
    if key is None:
        raise _refused(f"Unknown topic config name: {name}")
    value = parse(name, key.type, text)
    check(name, value, key.check)
    return value


def _check_compaction_lags(configs: Mapping[str, str | None], config: BrokerConfig) -> None:
    own = {name: text for name, text in configs.items() if text is not None}
    shortest, longest = (effective(own, config, f"{end}.compaction.lag.ms") for end in ("min", "max"))
    assert isinstance(shortest, int)
    assert isinstance(longest, int)
    if shortest > longest:
        raise _refused(
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})"
        )


def _refused(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, sentence)


def effective(own: Mapping[str, str], config: BrokerConfig, name: str) -> Value:
    """Return the value in force of a topic's key, for a topic with the settings `own`."""
    key = TOPIC_KEYS[name]
    if name in own:
        return in_force(parse(name, key.type, own[name]), key.check)
    if key.inherits is not None:
        for broker_key in SYNONYMS.get(key.inherits, (key.inherits,)):
            value = config.value(broker_key)
            if value is not None:
                return _in_topic_unit(broker_key, value)
    return parse(name, key.type, key.default)


def _in_topic_unit(broker_key: str, value: Value) -> Value:
    factor = _MS_IN_UNIT.get(broker_key)
    if factor is None:
        return value
    assert isinstance(value, int)
    return value * factor if value >= 0 else -1


def synonyms(own: Mapping[str, str], config: BrokerConfig, name: str) -> list[Synonym]:
    """Return every value given for the key, the one in force first, as DescribeConfigs lists them."""
    key = TOPIC_KEYS[name]
    mine = [Synonym(name, own[name], ValueSource.TOPIC)] if name in own else []
    return mine + (config.synonyms(key.inherits) if key.inherits is not None else [])


def source(own: Mapping[str, str], config: BrokerConfig, name: str) -> ValueSource:
    """Return the source of the value in force."""
    found = synonyms(own, config, name)
    return found[0].source if found else ValueSource.DEFAULT

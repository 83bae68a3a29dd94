"""A topic's settings: what they may be, what is inherited, and how synonyms are listed."""

import pytest

from barnabas.broker.config import BrokerConfig, Synonym, ValueSource
from barnabas.broker.config.resources.log_configs import log_config
from barnabas.broker.config.resources.replicas import effective_min_insync_replicas
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS, effective, source, synonyms, validate
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.config import LogConfig


def test_without_any_setting_a_log_has_kafkas_defaults() -> None:
    assert log_config(BrokerConfig(), {}) == LogConfig()


@pytest.mark.parametrize(
    ("static", "own", "expected"),
    [
        ({}, {}, 604_800_000),
        ({"log.retention.hours": "2"}, {}, 7_200_000),
        ({"log.retention.hours": "-1"}, {}, -1),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, {}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, {}, 4),
        ({"log.retention.ms": "4"}, {"retention.ms": " 5 "}, 5),
    ],
)
def test_retention_comes_from_the_first_of_its_names_that_is_set(
    static: dict[str, str], own: dict[str, str], expected: int
) -> None:
    assert log_config(BrokerConfig(static), own).retention_ms == expected


@pytest.mark.parametrize(("asked", "replicas", "in_force"), [(1, 1, 1), (2, 1, 1), (2, 3, 2), (4, 3, 3)])
def test_no_more_replicas_have_to_be_in_sync_than_there_are(asked: int, replicas: int, in_force: int) -> None:
    assert effective_min_insync_replicas(asked, replicas) == in_force


@pytest.mark.parametrize(
    ("static", "own"), [({"min.insync.replicas": "2"}, {}), ({}, {"min.insync.replicas": "2"})], ids=["broker", "topic"]
)
def test_a_log_requests_the_one_replica_in_sync_that_there_is(static: dict[str, str], own: dict[str, str]) -> None:
    assert log_config(BrokerConfig(static), own).min_insync_replicas == 1
    assert effective(own, BrokerConfig(static), "min.insync.replicas") == 2, "it is described as it was set"


def test_every_broker_key_a_topic_inherits_reaches_its_log() -> None:
    static = {
        "log.segment.bytes": "1048577", "log.roll.hours": "1", "log.roll.jitter.ms": "3",
        "log.index.size.max.bytes": "4", "log.index.interval.bytes": "5", "log.retention.bytes": "6",
        "message.max.bytes": "7", "log.cleanup.policy": "compact,delete", "compression.type": "zstd",
        "log.message.timestamp.type": "LogAppendTime", "log.message.timestamp.before.max.ms": "8",
        "log.message.timestamp.after.max.ms": "9", "log.flush.interval.messages": "10",
        "log.flush.scheduler.interval.ms": "11", "log.segment.delete.delay.ms": "12", "min.insync.replicas": "1",
        "log.cleaner.delete.retention.ms": "13", "log.cleaner.min.cleanable.ratio": "0.25",
        "log.cleaner.min.compaction.lag.ms": "14", "log.cleaner.max.compaction.lag.ms": "15",
        "compression.gzip.level": "1", "compression.lz4.level": "2", "compression.zstd.level": "3",
        "log.preallocate": "true", "unclean.leader.election.enable": "true", "log.retention.ms": "16",
        "max.decompressed.message.bytes": "17",
    }  # fmt: skip  # many short values
    found = log_config(BrokerConfig(static), {})
    assert found == LogConfig(
        1048577, 3_600_000, 3, 4, 5, 16, 6, 7, 17, frozenset({"compact", "delete"}), "zstd", "LogAppendTime", 8, 9, 10,
        11, 12, 1, 13, 0.25, 14, 15, 1, 2, 3, True, True,
    )  # fmt: skip  # many short values


BETWEEN = "Value must be between"


def invalid(value: str, key: str, why: str) -> str:
    return f"Invalid value {value} for configuration {key}: {why}"


@pytest.mark.parametrize(
    ("configs", "why"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        ({"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        ({"retention.ms": "-2"}, "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ({"retention.ms": ""}, "Invalid value  for configuration retention.ms: Not a number of type LONG"),
        ({"retention.ms": "1_000"}, "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"),
        ({"retention.bytes": "9" * 20}, invalid("9" * 20, "retention.bytes", "Not a number of type LONG")),
        ({"cleanup.policy": "foo"}, invalid("foo", "cleanup.policy", "String must be one of: compact, delete")),
        ({"cleanup.policy": None}, "Null value not supported for topic configs: cleanup.policy"),
        ({"segment.bytes": "10"}, invalid("10", "segment.bytes", "Value must be at least 1048576")),
        (
            {"min.cleanable.dirty.ratio": "2"},
            invalid("2.0", "min.cleanable.dirty.ratio", "Value must be no more than 1"),
        ),
        ({"compression.gzip.level": "0"}, invalid("0", "compression.gzip.level", f"{BETWEEN} 1 and 9 or equal to -1")),
        ({"preallocate": "yes"}, invalid("yes", "preallocate", "Expected value to be either true or false")),
        (
            {"max.compaction.lag.ms": "1", "min.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (1)",
        ),
        (
            {"remote.storage.enable": "true"},
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        ),
        (
            {"leader.replication.throttled.replicas": "x"},
            "Invalid value [x] for configuration leader.replication.throttled.replicas: "
            "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following "
            "format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ],
)
def test_a_setting_that_may_not_be_is_refused_in_kafkas_words(configs: dict[str, str | None], why: str) -> None:
    with pytest.raises(KafkaError) as refusal:
        validate(configs, BrokerConfig())
    assert (refusal.value.code, refusal.value.message) == (ErrorCode.INVALID_CONFIG, why)


@pytest.mark.parametrize(
    "configs",
    [{"cleanup.policy": ""}, {"cleanup.policy": "delete,delete"}, {"segment.ms": " 100 "}, {"min.insync.replicas": "3"},
     {"local.retention.ms": "999999999999"}, {"follower.replication.throttled.replicas": "0:1,1:1"},
     {"leader.replication.throttled.replicas": "*"}, {"min.cleanable.dirty.ratio": "1e-1"}],
)  # fmt: skip  # many short values
def test_values_accepted_by_kafka_are_accepted(configs: dict[str, str | None]) -> None:
    validate(configs, BrokerConfig())


def test_synonyms_are_listed_with_the_one_in_force_first() -> None:
    config = BrokerConfig({"log.retention.hours": "100"})
    config.follow({"log.retention.ms": "50"}, {"log.retention.ms": "60"})
    assert synonyms({"retention.ms": "5"}, config, "retention.ms") == [
        Synonym("retention.ms", "5", ValueSource.TOPIC),
        Synonym("log.retention.ms", "50", ValueSource.DYNAMIC_BROKER),
        Synonym("log.retention.ms", "60", ValueSource.DYNAMIC_DEFAULT_BROKER),
        Synonym("log.retention.hours", "100", ValueSource.STATIC_BROKER),
        Synonym("log.retention.hours", "168", ValueSource.DEFAULT),
    ]
    assert source({}, config, "retention.ms") is ValueSource.DYNAMIC_BROKER
    assert effective({}, config, "retention.ms") == 50


def test_every_key_inherits_from_a_key_that_exists() -> None:
    config = BrokerConfig()
    for name, key in TOPIC_KEYS.items():
        assert effective({}, config, name) is not None
        if key.inherits is not None:
            config.value(key.inherits)

"""What groups may be given, and a broker may say of them, is refused where Apache Kafka 4.4.0 does, in its words."""

from collections.abc import Mapping
from pathlib import Path

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.definitions.values import ValueType
from barnabas.broker.config.load import load_config
from barnabas.broker.config.resources.group_configs import GROUP_KEYS, validate
from barnabas.protocol.errors import KafkaError
from tests.support.clients.java import run_program

Settings = Mapping[str, str]

_NUMBERS = (
    *("", " 5 ", "0", "-1", "1", "2", "3", "9", "10", "11", "99", "100", "2000", "4001", "15000", "60001", "1e3"),
    *("2147483648", "0" * 5_000 + "5", "9" * 25),
)
_BOOLEANS = ("true", "FALSE", " true", "yes", "", "0")
_WORDS: dict[str, tuple[str, ...]] = {
    "share.auto.offset.reset": (
        *("earliest", "latest", "EARLIEST", "none", "", "by_duration:PT1H", "by_duration:P1D", "by_duration:-PT1H"),
        *("by_duration:", "by_duration", "by_duration:1h", "by_duration:PT0S", "BY_DURATION:PT1S", "by_duration:PT-1S"),
        *("by_duration:PT1H-30M", "by_duration:P-0D", "by_duration:PT-0.5S", "by_duration:-PT-5S", "by_duration:PT5.S"),
        *(
            "by_duration:PT99999999999999999999S",
            "by_duration:PT9223372036854775807S",
            "by_duration:P9223372036854775807D",
        ),
        *(" latest", "by_duration:P1Y", "by_duration:PT1.5S", "by_duration:pt1s"),
    ),
    "share.isolation.level": (
        *("read_committed", "READ_COMMITTED", "read_uncommitted", "serializable", "", " read_committed"),
    ),
    "errors.deadletterqueue.topic.name": ("", "dlq", "__dlq", "_dlq", "a b", " __dlq", "x" * 300),
    "streams.assignor.name": ("sticky", "", "nobody"),
    "streams.rack.aware.assignment.tags": ("a", "a,b", "a,a", "", "a,,b", "a, a"),
}
_TOGETHER: tuple[Settings, ...] = (
    {"share.heartbeat.interval.ms": "15000", "share.session.timeout.ms": "45000"},
    {"share.session.timeout.ms": "60000", "share.heartbeat.interval.ms": "5000", "share.isolation.level": "odd"},
    {"share.no.such": "1", "share.isolation.level": "odd"},
    {"share.delivery.count.limit": "11", "share.partition.max.record.locks": "1"},
    {"share.delivery.count.limit": "11", "share.record.lock.duration.ms": "1001"},
    {"group.share.delivery.count.limit": "5"},
)
_OF_BROKERS: tuple[Settings, ...] = (
    {"group.share.delivery.count.limit": "8", "group.share.max.delivery.count.limit": "7"},
    {"group.share.delivery.count.limit": "2", "group.share.min.delivery.count.limit": "3"},
    {"group.share.partition.max.record.locks": "5000"},
    {"group.share.partition.max.record.locks": "100", "group.share.min.partition.max.record.locks": "101"},
    {"group.share.record.lock.duration.ms": "14999"},
    {"group.share.record.lock.duration.ms": "60001"},
    {"group.share.max.record.lock.duration.ms": "30000", "group.share.record.lock.duration.ms": "30001"},
    {"group.share.max.share.sessions": "199"},
    {"group.share.max.share.sessions": "200"},
    {"group.share.max.size": "1000", "group.share.max.share.sessions": "999"},
    {"group.share.max.size": "1001"},
    {"group.share.delivery.count.limit": "11"},
    {"group.share.min.record.lock.duration.ms": "30001"},
    {"group.share.heartbeat.interval.ms": "15001"},
    {"group.share.delivery.count.limit": "1", "group.share.max.share.sessions": "1"},
    {"group.share.record.lock.duration.ms": "60001", "group.share.partition.max.record.locks": "5000"},
    {"group.share.max.share.sessions": "1", "group.consumer.heartbeat.interval.ms": "1"},
)


def _of_groups() -> list[Settings]:
    by_type = {ValueType.BOOLEAN: _BOOLEANS, ValueType.INT: _NUMBERS, ValueType.LONG: _NUMBERS}
    return [
        {name: text}
        for name, key in sorted(GROUP_KEYS.items())
        for text in (_WORDS[name] if name in _WORDS else by_type[key.type])
    ] + list(_TOGETHER)


def _of_a_group(settings: Settings) -> str:
    try:
        validate(settings, BrokerConfig())
    except KafkaError as refused:
        return refused.message
    return "ok"


def _of_a_broker(settings: Settings) -> str:
    try:
        load_config(settings=[f"{name}={text}" for name, text in settings.items()])
    except ConfigError as refused:
        return str(refused)
    return "ok"


def test_settings_of_groups_are_refused_in_kafkas_words() -> None:
    cases = [("group", settings) for settings in _of_groups()] + [("broker", settings) for settings in _OF_BROKERS]
    lines = ["\x1f".join((kind, *(f"{name}={text}" for name, text in settings.items()))) for kind, settings in cases]
    program = Path(__file__).with_name("GroupSettings.java")
    theirs = run_program(program, stdin="\n".join(lines) + "\n").splitlines()
    ours = [_of_a_group(settings) if kind == "group" else _of_a_broker(settings) for kind, settings in cases]
    assert [*zip(cases, ours, strict=True)] == [*zip(cases, theirs, strict=True)]

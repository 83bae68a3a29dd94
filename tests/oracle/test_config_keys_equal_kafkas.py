"""Our tables of configuration keys are Apache Kafka 4.4.0's: names, types, defaults, ranges, update modes, synonyms."""

from pathlib import Path

import pytest

from barnabas.broker.config.definitions.ignored_keys import ACCEPTED, INTERNAL
from barnabas.broker.config.definitions.keys import KEYS, OF_AUTHORIZER, OWN, Key, Update
from barnabas.broker.config.definitions.values import OffsetReset, OneOf, Range, ThrottledReplicas
from barnabas.broker.config.reference.differences import DIFFERENT_DEFAULTS
from barnabas.broker.config.resources.client_metrics import CLIENT_METRICS_KEYS, ClientMetricsKey
from barnabas.broker.config.resources.group_configs import GROUP_KEYS, GroupKey
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS, TopicKey
from tests.support.clients.java import run_program

_WORDS_IN_ANOTHER_CASE = "(case insensitive) "


@pytest.fixture(scope="module")
def kafka() -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {"broker": {}, "topic": {}, "mode": {}, "synonym": {}}
    found |= {"client metrics": {}, "group": {}, "group synonym": {}}
    for line in run_program(Path(__file__).with_name("ConfigKeys.java")).splitlines():
        kind, name, *columns = line.split("\t")
        found[kind][name] = tuple(columns)
    return found


def _row(key: Key | TopicKey | GroupKey | ClientMetricsKey) -> tuple[str, ...]:
    return key.type.name, "<none>" if key.default is None else key.default, _validator(key)


def _validator(key: Key | TopicKey | GroupKey | ClientMetricsKey) -> str:
    match key.check:
        case Range(low, high, None):
            return f"[{low},...]" if high is None else f"[{low},...,{high}]"
        case Range(low, high, or_else):
            return f"[{low},...,{high}] or {or_else}"
        case OneOf(words, ignore_case):
            return f"{_WORDS_IN_ANOTHER_CASE * ignore_case}[{', '.join(words)}]"
        case ThrottledReplicas():
            return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        case OffsetReset():
            return f"[{key.check}]"
    return ""


def _theirs(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Checks that only forbid the empty string, or whose rule Kafka does not print, are not in our tables."""
    type, default, validator = columns
    return type, default, "" if validator in ("non-empty list", "non-empty string", "non-null string") else validator


def test_the_broker_keys_are_kafkas(kafka: dict[str, dict[str, tuple[str, ...]]]) -> None:
    ours = {name: _row(key) for name, key in (KEYS | ACCEPTED).items() if key not in (*OWN, *OF_AUTHORIZER)}
    for name, (kafkas, _) in DIFFERENT_DEFAULTS.items():
        type, default, validator = ours[name]
        assert default != kafkas, name
        ours[name] = type, "<none>" if kafkas is None else kafkas, validator
    theirs = {name: _theirs(row) for name, row in kafka["broker"].items()}
    for kind in ("consumer", "share", "streams"):
        assignors = f"group.{kind}.assignors"  # Kafka takes names of classes, too, and looks at them when it starts
        theirs[assignors] = (*theirs[assignors][:2], ours[assignors][2])
    for not_told in ("process.roles", *INTERNAL - {key.name for key in OF_AUTHORIZER}):
        theirs[not_told] = ours[not_told]
    assert ours == theirs


def test_the_topic_keys_are_kafkas(kafka: dict[str, dict[str, tuple[str, ...]]]) -> None:
    assert {name: _row(key) for name, key in TOPIC_KEYS.items()} == kafka["topic"]


def test_what_may_change_while_running_is_what_may_in_kafka(kafka: dict[str, dict[str, tuple[str, ...]]]) -> None:
    ours = {name: (key.update.value,) for name, key in (KEYS | ACCEPTED).items() if key.update is not Update.READ_ONLY}
    assert ours == {name: mode for name, mode in kafka["mode"].items() if name in KEYS | ACCEPTED}


def test_topics_inherit_what_they_inherit_in_kafka(kafka: dict[str, dict[str, tuple[str, ...]]]) -> None:
    assert {name: (key.inherits,) for name, key in TOPIC_KEYS.items() if key.inherits} == kafka["synonym"]


def test_the_group_keys_are_kafkas(kafka: dict[str, dict[str, tuple[str, ...]]]) -> None:
    assert {name: _row(key) for name, key in GROUP_KEYS.items()} == {
        name: _theirs(row) for name, row in kafka["group"].items()
    }


def test_groups_inherit_what_they_inherit_in_kafka(kafka: dict[str, dict[str, tuple[str, ...]]]) -> None:
    assert {name: (key.inherits or "<none>",) for name, key in GROUP_KEYS.items()} == kafka["group synonym"]


def test_the_keys_of_client_metrics_are_kafkas(kafka: dict[str, dict[str, tuple[str, ...]]]) -> None:
    assert {name: _row(key) for name, key in CLIENT_METRICS_KEYS.items()} == {
        name: _theirs(row) for name, row in kafka["client metrics"].items()
    }

"""DescribeConfigs, IncrementalAlterConfigs and AlterConfigs, with the codes and sentences Apache Kafka 4.4.0 gives."""

import errno
import tracemalloc
from typing import Any

import pytest

from barnabas.broker.api.handlers import describe_configs
from barnabas.broker.api.handlers.describe_configs import handle
from barnabas.broker.config.definitions.ignored_keys import ACCEPTED, INTERNAL
from barnabas.broker.config.definitions.keys import KEYS
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import alter_configs, incremental_alter_configs
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.registry import ApiKey
from tests.support.worlds.catalogue_api import CatalogueApi, versions

E = ErrorCode
TOPIC, BROKER, LOGGER, METRICS = 2, 4, 8, 16
SET, DELETE, APPEND, SUBTRACT = range(4)
Answer = tuple[int, str | None]


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi(topics={"a": 1})


def alter(
    api: CatalogueApi,
    kind: int,
    name: str,
    *operations: tuple[str, int, str | None],
    validate_only: bool = False,
    version: int | None = None,
) -> Answer:
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in operations
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    (answer,) = api.ask(request, version).responses
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer.error_code, answer.error_message


def replace(
    api: CatalogueApi, kind: int, name: str, *pairs: tuple[str, str | None], version: int | None = None
) -> Answer:
    resource = alter_configs.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[alter_configs.AlterableConfig(name=key, value=value) for key, value in pairs],
    )
    (answer,) = api.ask(AlterConfigsRequest(resources=[resource], validate_only=False), version).responses
    return answer.error_code, answer.error_message


def describe(
    api: CatalogueApi,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int | None = None,
    include_synonyms: bool = True,
    include_documentation: bool = False,
) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=include_synonyms, include_documentation=include_documentation
    )
    (result,) = api.ask(request, version).results
    return result


@pytest.mark.parametrize("version", versions(IncrementalAlterConfigsRequest))
def test_a_setting_is_set_and_taken_back_in_every_version(api: CatalogueApi, version: int) -> None:
    own = api.services.catalogue.topics["a"].configs
    assert alter(api, TOPIC, "a", ("retention.ms", SET, "5"), version=version) == (E.NONE, None)
    assert own == {"retention.ms": "5"}
    assert alter(api, TOPIC, "a", ("retention.ms", DELETE, None), version=version) == (E.NONE, None)
    assert own == {}


def test_lists_grow_and_shrink(api: CatalogueApi) -> None:
    own = api.services.catalogue.topics["a"].configs
    for operation, value, after in [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "delete", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "compact", ""),
        (APPEND, " compact , delete", " compact , delete"),  # kept as it was written, as in Kafka
    ]:
        assert alter(api, TOPIC, "a", ("cleanup.policy", operation, value)) == (E.NONE, None)
        assert own["cleanup.policy"] == after


_FIXED = "Cannot update these configs dynamically"
_OWN = "Cannot update these configs at default cluster level, broker id must be specified"
_CHARACTERS = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
_TWICE = "Error due to duplicate config keys"
_PER_IP = "max.connections.per.ip.overrides"
_NO_NUMBER, _POLICIES = "Not a number of type LONG", "String must be one of: compact, delete"
_TOO_SMALL = "Value must be at least 0"


def invalid(value: str, key: str, why: str) -> str:
    return f"Invalid value {value} for configuration {key}: {why}"


def no_list(operation: str, key: str) -> str:
    return f"Can't {operation} to key {key} because its type is not LIST."


@pytest.mark.parametrize(
    ("kind", "name", "operations", "code", "message"),
    [
        (TOPIC, "nope", [("retention.ms", SET, "5")], 3, "The topic 'nope' does not exist."),
        (TOPIC, "", [("retention.ms", SET, "5")], 42, "Default topic resources are not allowed."),
        (TOPIC, "a/b", [("retention.ms", SET, "5")], 17, f"Topic name is invalid: 'a/b' {_CHARACTERS}"),
        (TOPIC, "a", [("foo", SET, "5")], 40, "Unknown topic config name: foo"),
        (TOPIC, "a", [("retention.ms", SET, "x")], 40, invalid("x", "retention.ms", _NO_NUMBER)),
        (TOPIC, "a", [("retention.ms", APPEND, "5")], 40, no_list("APPEND", "retention.ms")),
        (TOPIC, "a", [("foo", SUBTRACT, "5")], 40, no_list("SUBTRACT", "foo")),
        (TOPIC, "a", [("cleanup.policy", APPEND, "foo")], 40, invalid("foo", "cleanup.policy", _POLICIES)),
        (TOPIC, "a", [("retention.ms", SET, None)], 42, "Null value not supported for : retention.ms"),
        (TOPIC, "a", [("cleanup.policy", APPEND, None)], 42, "Null value not supported for : cleanup.policy"),
        (TOPIC, "a", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")], 42, _TWICE),
        (TOPIC, "a", [("retention.ms", 7, "1")], 42, "Unknown operation type 7"),
        (77, "a", [("x", SET, "1")], 42, "Unknown resource type 77"),
        (METRICS, "a", [("x", SET, "1")], 42, "Unknown client metrics configuration: x"),
        (BROKER, "7", [("log.retention.ms", SET, "1")], 42, "Unexpected broker id, expected 1, but received 7"),
        (BROKER, "abc", [("log.retention.ms", SET, "1")], 42, "Node id must be an integer, but it is: abc"),
        (BROKER, "1", [("num.partitions", SET, "5")], 42, f"{_FIXED}: [num.partitions]"),
        (BROKER, "", [("log.retention.hours", SET, "5")], 42, f"{_FIXED}: [log.retention.hours]"),
        (BROKER, "", [("listeners", SET, "x")], 42, f"{_OWN}: [listeners]"),
        (BROKER, "1", [("log.retention.ms", SET, "x")], 42, invalid("x", "log.retention.ms", _NO_NUMBER)),
        (BROKER, "", [("message.max.bytes", SET, "-1")], 42, invalid("-1", "message.max.bytes", _TOO_SMALL)),
        (BROKER, "", [(_PER_IP, SET, "somewhere:5")], 42, f"{_PER_IP}: somewhere:5 is not ADDRESS:COUNT"),
        (LOGGER, "1", [("kafka.server", SET, "DEBUG")], 40, "Logger kafka.server does not exist!"),
        (LOGGER, "3", [("x", SET, "DEBUG")], 42, "Unexpected node id. Expected 1, but received 3"),
    ],
)
def test_a_change_that_may_not_be_is_refused_as_kafka_refuses_it(
    api: CatalogueApi, kind: int, name: str, operations: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    before = api.world.log()
    assert alter(api, kind, name, *operations) == (code, message)
    assert api.world.log() == before


def test_validating_and_doing_nothing_change_nothing(api: CatalogueApi) -> None:
    before = api.world.log()
    assert alter(api, TOPIC, "a", ("retention.ms", SET, "5"), validate_only=True) == (E.NONE, None)
    assert alter(api, TOPIC, "a", ("retention.ms", SET, "x"), validate_only=True)[0] == E.INVALID_CONFIG
    assert alter(api, TOPIC, "a") == (E.NONE, None)
    assert alter(api, TOPIC, "a", ("segment.ms", DELETE, None), ("foo", DELETE, None)) == (E.NONE, None)
    assert alter(api, LOGGER, "1") == (E.NONE, None)
    assert api.world.log() == before


def test_a_resource_named_twice_is_refused_both_times(api: CatalogueApi) -> None:
    twice = [incremental_alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name="a", configs=[])] * 2
    answers = api.ask(IncrementalAlterConfigsRequest(resources=twice, validate_only=False)).responses
    assert [(answer.error_code, answer.error_message) for answer in answers] == [
        (E.INVALID_REQUEST, "Each resource must appear at most once.")
    ] * 2


def test_a_broker_setting_is_in_force_at_once_and_after_a_restart(api: CatalogueApi) -> None:
    assert alter(api, BROKER, "1", ("log.retention.ms", SET, "9")) == (E.NONE, None)
    assert api.services.config.integer("log.retention.ms") == 9
    api.restart()
    assert api.services.config.integer("log.retention.ms") == 9
    assert alter(api, BROKER, "1", ("unknown.to.kafka", SET, "x")) == (E.NONE, None), "for plug-ins, says Kafka"


def test_a_full_disk_is_answered(api: CatalogueApi) -> None:
    api.world.files.fail("pwrite", errno.ENOSPC)
    assert alter(api, TOPIC, "a", ("retention.ms", SET, "5"))[0] == E.KAFKA_STORAGE_ERROR
    assert replace(api, TOPIC, "a", ("retention.ms", "5"))[0] == E.KAFKA_STORAGE_ERROR
    assert api.services.catalogue.topics["a"].configs == {}


# --- AlterConfigs ---


@pytest.mark.parametrize("version", versions(AlterConfigsRequest))
def test_altering_the_old_way_takes_back_what_is_not_named(api: CatalogueApi, version: int) -> None:
    own = api.services.catalogue.topics["a"].configs
    assert replace(api, TOPIC, "a", ("retention.ms", "5"), ("flush.ms", "6"), version=version) == (E.NONE, None)
    assert replace(api, TOPIC, "a", ("flush.ms", "7"), version=version) == (E.NONE, None)
    assert own == {"flush.ms": "7"}
    assert replace(api, BROKER, "", ("log.retention.ms", "8"), version=version) == (E.NONE, None)
    assert api.services.config.integer("log.retention.ms") == 8
    assert replace(api, BROKER, "", version=version) == (E.NONE, None)
    assert api.services.config.value("log.retention.ms") is None


@pytest.mark.parametrize(
    ("kind", "name", "pairs", "code", "message"),
    [
        (TOPIC, "nope", [("segment.ms", "1")], 3, "The topic 'nope' does not exist."),
        (TOPIC, "a", [("foo", "1")], 40, "Unknown topic config name: foo"),
        (TOPIC, "a", [("segment.ms", None)], 42, "Null value not supported for : segment.ms"),
        (BROKER, "1", [("num.partitions", "5")], 42, f"{_FIXED}: [num.partitions]"),
        (BROKER, "2", [("log.retention.ms", "5")], 42, "Unexpected broker id, expected 1, but received 2"),
        (LOGGER, "1", [("x", "5")], 42, "Unknown resource type 8"),
        (TOPIC, "a", [("segment.ms", "1"), ("segment.ms", "2")], 42, _TWICE),
    ],
)
def test_altering_the_old_way_is_refused_as_kafka_refuses_it(
    api: CatalogueApi, kind: int, name: str, pairs: list[tuple[str, str | None]], code: int, message: str
) -> None:
    assert replace(api, kind, name, *pairs) == (code, message)


# --- DescribeConfigs ---


@pytest.mark.parametrize("version", versions(DescribeConfigsRequest))
def test_a_topic_is_described_in_every_version(api: CatalogueApi, version: int) -> None:
    alter(api, TOPIC, "a", ("retention.ms", SET, " 5 "))
    result = describe(api, TOPIC, "a", version=version)
    assert (result.error_code, result.error_message, len(result.configs)) == (E.NONE, "", 37)
    told = {entry.name: entry for entry in result.configs}
    entry = told["retention.ms"]
    assert (entry.value, entry.config_source, entry.read_only, entry.is_sensitive) == ("5", 1, False, False)
    assert entry.config_type == (5 if version >= 3 else 0)
    assert (told["cleanup.policy"].value, told["cleanup.policy"].config_source) == ("delete", 5)


def test_synonyms_say_where_a_value_comes_from() -> None:
    api = CatalogueApi({"log.retention.hours": "100"}, topics={"a": 1})
    alter(api, TOPIC, "a", ("retention.ms", SET, "5"))
    alter(api, BROKER, "", ("log.retention.ms", SET, "88"))
    (entry,) = describe(api, TOPIC, "a", ["retention.ms", "foo"]).configs
    assert [(each.name, each.value, each.source) for each in entry.synonyms] == [
        ("retention.ms", "5", 1),
        ("log.retention.ms", "88", 3),
        ("log.retention.hours", "100", 4),
        ("log.retention.hours", "168", 5),
    ]
    (entry,) = describe(api, BROKER, "1", ["log.retention.ms"]).configs
    assert (entry.value, entry.config_source, entry.read_only) == ("88", 3, False)
    (entry,) = describe(api, BROKER, "1", ["log.retention.hours"]).configs
    assert (entry.value, entry.read_only) == ("100", True)
    (entry,) = describe(api, TOPIC, "a", ["retention.ms"], include_synonyms=False).configs
    assert entry.synonyms == []


def test_a_synonym_without_a_value_under_the_asked_name_is_not_listed() -> None:
    api = CatalogueApi({"log.retention.hours": "100"}, topics={"a": 1})
    (entry,) = describe(api, TOPIC, "a", ["retention.ms"]).configs
    assert (entry.value, entry.config_source, entry.synonyms) == ("360000000", 5, [])
    alter(api, BROKER, "1", ("log.roll.ms", SET, "99"))
    (entry,) = describe(api, BROKER, "1", ["log.roll.hours"]).configs
    assert [(each.name, each.value, each.source) for each in entry.synonyms] == [("log.roll.hours", "168", 5)]


def test_documentation_is_reported_when_requested(api: CatalogueApi) -> None:
    for kind, name in ((TOPIC, "a"), (BROKER, "1")):
        assert all(each.documentation for each in describe(api, kind, name, include_documentation=True).configs)
        assert not any(each.documentation for each in describe(api, kind, name).configs)


def test_the_broker_is_described_with_every_key_of_kafka(api: CatalogueApi) -> None:
    told = {entry.name: entry for entry in describe(api, BROKER, "1").configs}
    assert told.keys() == (KEYS.keys() | ACCEPTED.keys()) - INTERNAL
    assert (told["num.partitions"].value, told["num.partitions"].read_only) == ("1", True)
    assert (told["log.roll.ms"].value, told["log.roll.ms"].config_source) == (None, 5)
    assert told["ssl.key.password"].is_sensitive
    assert told["ssl.key.password"].value is None
    assert told["log.cleaner.min.cleanable.ratio"].value == "0.5"


def test_the_default_broker_is_described_with_what_was_set_for_all(api: CatalogueApi) -> None:
    alter(api, BROKER, "", ("message.max.bytes", SET, "2000000"), ("unknown.key", SET, "secret"))
    told = [
        (each.name, each.value, each.config_source, each.read_only, each.is_sensitive, each.config_type)
        for each in describe(api, BROKER, "").configs
    ]
    assert told == [("message.max.bytes", "2000000", 3, False, False, 3), ("unknown.key", None, 3, True, True, 0)]


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "nope", 3, None),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER, "--1", 42, "Broker id must be an integer, but it is: --1"),
        (BROKER, "1" * 500, 42, "Broker id must be an integer, but it is: " + "1" * 500),
        (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (77, "x", 42, None),
        (0, "x", 42, None),
    ],
)
def test_a_resource_without_settings_is_refused(
    api: CatalogueApi, kind: int, name: str, code: int, message: str | None
) -> None:
    result = describe(api, kind, name)
    assert (result.error_code, result.configs, result.resource_type, result.resource_name) == (code, [], kind, name)
    assert message is None or result.error_message == message


def test_a_kind_of_resource_that_there_is_not_has_the_whole_request_refused(api: CatalogueApi) -> None:
    wanted = [
        DescribeConfigsResource(resource_type=kind, resource_name="a", configuration_keys=None) for kind in (TOPIC, 99)
    ]
    answers = api.ask(DescribeConfigsRequest(resources=wanted)).results
    assert [(each.resource_type, each.error_code) for each in answers] == [
        (TOPIC, E.INVALID_REQUEST),
        (99, E.INVALID_REQUEST),
    ]


def test_the_same_question_asked_a_thousand_times_costs_little_more_than_its_answers() -> None:
    api = CatalogueApi(topics={"a": 1})
    asked = DescribeConfigsResource(resource_type=TOPIC, resource_name="a", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True, include_documentation=True)
    (once,) = api.ask(request).results
    request.resources *= 1000
    tracemalloc.start()
    handle(request, RequestContext(api.services, ApiKey.DESCRIBE_CONFIGS, 4))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    assert api.ask(request).results == [once] * 1000


def test_one_request_is_told_so_many_settings_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    api = CatalogueApi(topics={"a": 1})
    monkeypatch.setattr(describe_configs, "_ENTRIES_MAX", 100)
    asked = DescribeConfigsResource(resource_type=TOPIC, resource_name="a", configuration_keys=None)
    results = api.ask(DescribeConfigsRequest(resources=[asked] * 6)).results
    told = [result.error_code for result in results]
    assert sum(len(result.configs) for result in results) > 100
    assert told == [E.NONE] * told.count(0) + [E.INVALID_REQUEST] * (6 - told.count(0))
    assert 0 < told.count(0) < 6

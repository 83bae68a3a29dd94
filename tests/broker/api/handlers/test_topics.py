"""CreateTopics, DeleteTopics, CreatePartitions: what is done, and the codes and sentences Apache Kafka 4.4.0 gives."""

import errno
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.primitives import ZERO_UUID
from tests.support.worlds.catalogue_api import CatalogueApi, versions

E = ErrorCode
LOG = "__cluster_metadata"


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi()


def topic(
    name: str, count: int = 1, factor: int = 1, assigned: dict[int, list[int]] | None = None, **configs: str | None
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=count,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=n, broker_ids=b) for n, b in (assigned or {}).items()],
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def create(api: CatalogueApi, *topics: CreatableTopic, validate_only: bool = False) -> list[Any]:
    answer = api.ask(CreateTopicsRequest(topics=list(topics), validate_only=validate_only))
    return list(answer.topics)


@pytest.mark.parametrize("version", versions(CreateTopicsRequest))
def test_a_topic_is_created_in_every_version(api: CatalogueApi, version: int) -> None:
    (answer,) = api.ask(CreateTopicsRequest(topics=[topic("a", 3, retention_ms="5")]), version).topics
    assert (answer.name, answer.error_code, answer.error_message) == ("a", E.NONE, None)
    created = api.services.catalogue.topics["a"]
    assert (len(created.partitions), created.configs) == (3, {"retention.ms": "5"})
    if version >= 5:
        assert (answer.num_partitions, answer.replication_factor) == (3, 1)
        told = {entry.name: (entry.value, entry.config_source, entry.read_only) for entry in answer.configs}
        assert len(told) == 37
        assert told["retention.ms"] == ("5", 1, False)
        assert told["cleanup.policy"] == ("delete", 5, False)
    if version >= 7:
        assert answer.topic_id == created.topic_id


_LONG = "a" * 250
_CHARACTERS = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
_TOO_LONG = f"the length of '{_LONG}' is longer than the max allowed length 249"
_POSITIVE = "Number of partitions was set to an invalid non-positive value."
_FACTOR = "Replication factor must be larger than 0, or -1 to use the default value."
_UNREACHED = (
    "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 "
    "broker(s) are registered or some brokers have all their log directories cordoned."
)
_BY_HAND = "A manual partition assignment was specified, but {} was not set to -1."
_ASSIGNED = "The manual partition assignment includes {}"
_NO_BROKER = _ASSIGNED.format("broker 2, but no such broker is registered.")
_NO_REPLICA = _ASSIGNED.format("an empty replica list.")
_IN_ORDER = "partitions should be a consecutive 0-based integer sequence"
_NAME, _ASSIGNMENT, _CONFIG = E.INVALID_TOPIC_EXCEPTION, E.INVALID_REPLICA_ASSIGNMENT, E.INVALID_CONFIG


@pytest.mark.parametrize(
    ("wish", "code", "message"),
    [
        (topic(""), _NAME, "Topic name is invalid: the empty string is not allowed"),
        (topic("."), _NAME, "Topic name is invalid: '.' is not allowed"),
        (topic(".."), _NAME, "Topic name is invalid: '..' is not allowed"),
        (topic("a/b"), _NAME, f"Topic name is invalid: 'a/b' {_CHARACTERS}"),
        (topic(_LONG), _NAME, f"Topic name is invalid: {_TOO_LONG}"),
        (topic("old"), E.TOPIC_ALREADY_EXISTS, "Topic 'old' already exists."),
        (topic("with_dot"), _NAME, "Topic 'with_dot' collides with existing topic: with.dot"),
        (topic(LOG), E.INVALID_REQUEST, f"Creation of internal topic {LOG} is prohibited."),
        (topic("n", 0), E.INVALID_PARTITIONS, _POSITIVE),
        (topic("n", -2), E.INVALID_PARTITIONS, _POSITIVE),
        (topic("n", 1, 0), E.INVALID_REPLICATION_FACTOR, _FACTOR),
        (topic("n", 1, -2), E.INVALID_REPLICATION_FACTOR, _FACTOR),
        (topic("n", 1, 3), E.INVALID_REPLICATION_FACTOR, _UNREACHED),
        (topic("n", 10_001), E.POLICY_VIOLATION, "Excessively large number of partitions per request."),
        (topic("n", 2, 1, {0: [1], 1: [1]}), E.INVALID_REQUEST, _BY_HAND.format("replication factor")),
        (topic("n", 2, -1, {0: [1], 1: [1]}), E.INVALID_REQUEST, _BY_HAND.format("numPartitions")),
        (topic("n", -1, -1, {0: [1], 2: [1]}), _ASSIGNMENT, _IN_ORDER),
        (topic("n", -1, -1, {0: [2]}), _ASSIGNMENT, _NO_BROKER),
        (topic("n", -1, -1, {0: [1], 1: [1, 2]}), _ASSIGNMENT, _NO_BROKER),
        (topic("n", -1, -1, {0: []}), _ASSIGNMENT, _NO_REPLICA),
        (topic("n", -1, -1, {0: [1, 1]}), _ASSIGNMENT, _ASSIGNED.format("the broker 1 more than once.")),
        (topic("n", foo="1"), _CONFIG, "Unknown topic config name: foo"),
        (topic("n", foo=None), _CONFIG, "Null value not supported for topic configs: foo"),
        (
            topic("n", segment_ms="a"),
            _CONFIG,
            "Invalid value a for configuration segment.ms: Not a number of type LONG",
        ),
    ],
)
def test_a_topic_that_may_not_be_is_refused_as_kafka_refuses_it(
    api: CatalogueApi, wish: CreatableTopic, code: ErrorCode, message: str
) -> None:
    create(api, topic("old"), topic("with.dot"))
    (answer,) = create(api, wish)
    assert (answer.error_code, answer.error_message) == (code, message)
    assert (answer.num_partitions, answer.replication_factor, answer.configs) == (-1, -1, [])
    assert answer.topic_id == ZERO_UUID
    assert set(api.services.catalogue.topics) == {"old", "with.dot"}


def test_minus_one_is_the_brokers_default() -> None:
    api = CatalogueApi({"num.partitions": "6"})
    (answer,) = create(api, topic("a", -1, -1))
    assert (answer.num_partitions, answer.replication_factor) == (6, 1)
    (answer,) = create(api, topic("b", -1, -1, {0: [1], 1: [1]}))
    assert answer.num_partitions == 2


def test_a_default_replication_factor_that_is_unsatisfiable_is_refused() -> None:
    (answer,) = create(CatalogueApi({"default.replication.factor": "3"}), topic("a", -1, -1))
    assert answer.error_code == E.INVALID_REPLICATION_FACTOR


def test_a_name_twice_in_one_request_is_not_created_and_the_others_are(api: CatalogueApi) -> None:
    answers = {
        answer.name: (answer.error_code, answer.error_message)
        for answer in create(api, topic("a"), topic("b"), topic("a"))
    }
    assert answers == {"a": (E.INVALID_REQUEST, "Duplicate topic name."), "b": (E.NONE, None)}
    assert set(api.services.catalogue.topics) == {"b"}


def test_validating_creates_nothing(api: CatalogueApi) -> None:
    (answer,) = create(api, topic("a", 4), validate_only=True)
    assert (answer.error_code, answer.num_partitions, len(answer.configs)) == (E.NONE, 4, 37)
    assert not api.services.catalogue.topics
    (answer,) = create(api, topic("a", 0), validate_only=True)
    assert answer.error_code == E.INVALID_PARTITIONS


def test_a_full_disk_is_answered_for_every_topic_that_could_have_been(api: CatalogueApi) -> None:
    api.world.files.fail("pwrite", errno.ENOSPC)
    codes = [answer.error_code for answer in create(api, topic("a"), topic("b"))]
    assert codes == [E.KAFKA_STORAGE_ERROR] * 2
    assert not api.services.catalogue.topics


# --- DeleteTopics ---


def delete(api: CatalogueApi, *targets: str | bytes | tuple[str, bytes]) -> list[tuple[Any, ...]]:
    states = [
        DeleteTopicState(name=target, topic_id=ZERO_UUID)
        if isinstance(target, str)
        else DeleteTopicState(name=None, topic_id=target)
        if isinstance(target, bytes)
        else DeleteTopicState(name=target[0], topic_id=target[1])
        for target in targets
    ]
    answer = api.ask(DeleteTopicsRequest(topics=states, timeout_ms=1))
    return [(each.name, each.topic_id, each.error_code, each.error_message) for each in answer.responses]


def test_topics_are_deleted_by_name_and_by_id(api: CatalogueApi) -> None:
    a, b = (answer.topic_id for answer in create(api, topic("a"), topic("b")))
    assert delete(api, "a", b) == [("a", a, E.NONE, None), ("b", b, E.NONE, None)]
    assert not api.services.catalogue.topics
    other = bytes(range(16))
    assert delete(api, "a", other) == [
        ("a", ZERO_UUID, E.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."),
        (None, other, E.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."),
    ]


def test_ambiguous_files_are_not_deleted(api: CatalogueApi) -> None:
    (a,) = (answer.topic_id for answer in create(api, topic("a")))
    bad = E.INVALID_REQUEST
    assert delete(api, ("a", a)) == [("a", a, bad, "You may not specify both topic name and topic id.")]
    assert delete(api, ZERO_UUID) == [(None, ZERO_UUID, bad, "Neither topic name nor id were specified.")]
    assert delete(api, "a", "a") == [("a", ZERO_UUID, bad, "Duplicate topic name.")]
    assert delete(api, a, a) == [(None, a, bad, "Duplicate topic id.")]
    assert {code for _, _, code, _ in delete(api, "a", a)} == {bad}
    assert set(api.services.catalogue.topics) == {"a"}


def test_deletion_can_be_switched_off() -> None:
    api = CatalogueApi({"delete.topic.enable": "false"})
    create(api, topic("a"))
    assert [code for _, _, code, _ in delete(api, "a")] == [E.TOPIC_DELETION_DISABLED]
    assert set(api.services.catalogue.topics) == {"a"}


# --- CreatePartitions ---


def grow(
    api: CatalogueApi, *wishes: tuple[str, int, list[list[int]] | None], validate_only: bool = False
) -> list[tuple[Any, ...]]:
    topics = [
        CreatePartitionsTopic(
            name=name,
            count=count,
            assignments=None
            if assigned is None
            else [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assigned],
        )
        for name, count, assigned in wishes
    ]
    answer = api.ask(CreatePartitionsRequest(topics=topics, timeout_ms=1, validate_only=validate_only))
    return [(each.name, each.error_code, each.error_message) for each in answer.results]


@pytest.mark.parametrize("version", versions(CreatePartitionsRequest))
def test_a_topic_gains_partitions_in_every_version(api: CatalogueApi, version: int) -> None:
    create(api, topic("a"))
    wish = CreatePartitionsTopic(name="a", count=3, assignments=None)
    answer = api.ask(CreatePartitionsRequest(topics=[wish], timeout_ms=1, validate_only=False), version)
    assert [each.error_code for each in answer.results] == [E.NONE]
    assert len(api.services.catalogue.topics["a"].partitions) == 3


@pytest.mark.parametrize(
    ("count", "assigned", "code", "message"),
    [
        (2, None, E.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (1, None, E.INVALID_PARTITIONS, "The topic a currently has 2 partition(s); 1 would not be an increase."),
        (-1, None, E.INVALID_PARTITIONS, "The topic a currently has 2 partition(s); -1 would not be an increase."),
        (4, [[1]], _ASSIGNMENT, "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."),
        (3, [[2]], _ASSIGNMENT, _NO_BROKER),
        (3, [[]], _ASSIGNMENT, _NO_REPLICA),
        (20_000, None, E.POLICY_VIOLATION, "Excessively large number of additional partitions per request."),
    ],
)
def test_partitions_that_may_not_be_are_refused_as_kafka_refuses_them(
    api: CatalogueApi, count: int, assigned: list[list[int]] | None, code: ErrorCode, message: str
) -> None:
    create(api, topic("a", 2))
    assert grow(api, ("a", count, assigned)) == [("a", code, message)]
    assert len(api.services.catalogue.topics["a"].partitions) == 2


def test_growing_by_hand_validating_and_naming_a_topic_twice(api: CatalogueApi) -> None:
    create(api, topic("a"), topic("b"))
    assert grow(api, ("a", 3, None), validate_only=True) == [("a", E.NONE, None)]
    assert len(api.services.catalogue.topics["a"].partitions) == 1
    assert grow(api, ("a", 3, [[1], [1]])) == [("a", E.NONE, None)]
    assert grow(api, ("a", 4, None), ("b", 2, None), ("a", 5, None)) == [
        ("b", E.NONE, None),
        ("a", E.INVALID_REQUEST, "Duplicate topic name."),
    ]
    assert [len(api.services.catalogue.topics[name].partitions) for name in "ab"] == [3, 2]
    assert [code for _, code, _ in grow(api, ("nope", 3, None))] == [E.UNKNOWN_TOPIC_OR_PARTITION]

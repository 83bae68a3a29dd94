"""Metadata, DescribeCluster, DescribeTopicPartitions, ApiVersions: what clients are told."""

import errno
from typing import Any

import pytest

from barnabas.broker.api.table import API_TABLE
from barnabas.broker.handlers.api_versions import unsupported_version
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.primitives import ZERO_UUID
from tests.support.worlds.catalogue import NODE_ID
from tests.support.worlds.catalogue_api import CLUSTER_ID, CatalogueApi, versions

E = ErrorCode
NOT_ASKED = -0x8000_0000
ALL_TOPIC_OPERATIONS, ALL_CLUSTER_OPERATIONS = 3576, 8096  # as Apache Kafka 4.4.0 without an authorizer


@pytest.fixture
def api() -> CatalogueApi:
    api = CatalogueApi()
    api.services.catalogue.create_topic("a", 2)
    api.services.catalogue.create_topic("b")
    return api


def named(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


@pytest.mark.parametrize("version", versions(MetadataRequest))
def test_topics_are_told_in_every_version(api: CatalogueApi, version: int) -> None:
    answer = api.ask(MetadataRequest(topics=named("a")), version)
    (broker,) = answer.brokers
    assert (broker.node_id, broker.host, broker.port) == (1, "localhost", 9092)
    assert answer.controller_id == (1 if version >= 1 else -1)
    assert answer.cluster_id == (CLUSTER_ID if version >= 2 else None)
    (topic,) = answer.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (E.NONE, "a", False)
    assert topic.topic_id == (api.services.catalogue.topics["a"].topic_id if version >= 10 else ZERO_UUID)
    assert [part.partition_index for part in topic.partitions] == [0, 1]
    for part in topic.partitions:
        assert (part.leader_id, part.replica_nodes, part.isr_nodes, part.offline_replicas) == (1, [1], [1], [])
        assert part.leader_epoch == (0 if version >= 7 else -1)


@pytest.mark.parametrize(
    ("version", "asked", "told"),
    [(0, [], ["a", "b"]), (1, None, ["a", "b"]), (1, [], []), (12, None, ["a", "b"]), (12, [], [])],
)
def test_all_topics_or_none(
    api: CatalogueApi, version: int, asked: list[MetadataRequestTopic] | None, told: list[str]
) -> None:
    assert [topic.name for topic in api.ask(MetadataRequest(topics=asked), version).topics] == told


@pytest.mark.parametrize("version", [0, 3, 4, 13])
def test_a_missing_topic_is_created_and_told_at_once(api: CatalogueApi, version: int) -> None:
    (topic,) = api.ask(MetadataRequest(topics=named("new")), version).topics
    assert (topic.error_code, len(topic.partitions)) == (E.NONE, 1)
    assert "new" in api.services.catalogue.topics


@pytest.mark.parametrize("version", versions(MetadataRequest))
def test_a_deleted_topic_is_first_told_to_be_gone_though_it_is_created_again(api: CatalogueApi, version: int) -> None:
    api.services.catalogue.delete_topics(["a"])
    a, b = api.ask(MetadataRequest(topics=named("a", "b")), version).topics
    assert (a.error_code, a.partitions, b.error_code) == (E.UNKNOWN_TOPIC_OR_PARTITION, [], E.NONE)
    assert "a" in api.services.catalogue.topics
    (again,) = api.ask(MetadataRequest(topics=named("a")), version).topics
    assert (again.error_code, len(again.partitions)) == (E.NONE, 1)


def test_asking_without_creating_leaves_a_deleted_topic_gone(api: CatalogueApi) -> None:
    api.services.catalogue.delete_topics(["a"])
    for _ in range(2):
        (a,) = api.ask(MetadataRequest(topics=named("a"), allow_auto_topic_creation=False), 4).topics
        assert a.error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    assert "a" not in api.services.catalogue.topics


def test_a_deleted_topic_that_could_not_be_created_again_is_told_to_be_gone_later(api: CatalogueApi) -> None:
    api.services.catalogue.delete_topics(["a"])
    api.world.files.fail("pwrite", errno.ENOSPC)
    (a,) = api.ask(MetadataRequest(topics=named("a"))).topics
    assert (a.error_code, "a" in api.services.catalogue.topics) == (E.KAFKA_STORAGE_ERROR, False)
    assert api.services.catalogue.was_deleted("a")


def test_a_missing_topic_is_not_created_unless_client_and_broker_allow_it(api: CatalogueApi) -> None:
    forbidden = MetadataRequest(topics=named("new"), allow_auto_topic_creation=False)
    (topic,) = api.ask(forbidden, 4).topics
    assert (topic.error_code, topic.partitions) == (E.UNKNOWN_TOPIC_OR_PARTITION, [])
    strict = CatalogueApi({"auto.create.topics.enable": "false"})
    (topic,) = strict.ask(MetadataRequest(topics=named("new"))).topics
    assert topic.error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    assert not strict.services.catalogue.topics


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a/b", E.INVALID_TOPIC_EXCEPTION),
        ("", E.INVALID_TOPIC_EXCEPTION),
        ("with_dot", E.INVALID_TOPIC_EXCEPTION),
        ("__share_group_state", E.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_name_that_cannot_be_created_is_answered(api: CatalogueApi, name: str, code: ErrorCode) -> None:
    api.services.catalogue.create_topic("with.dot")
    (topic,) = api.ask(MetadataRequest(topics=named(name))).topics
    assert (topic.error_code, topic.name, topic.partitions) == (code, name, [])


def test_a_full_disk_is_answered_where_a_topic_would_have_been_created(api: CatalogueApi) -> None:
    api.world.files.fail("pwrite", errno.ENOSPC)
    a, new = api.ask(MetadataRequest(topics=named("a", "new"))).topics
    assert (a.error_code, new.error_code) == (E.NONE, E.KAFKA_STORAGE_ERROR)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_internal_topics_show_as_internal(api: CatalogueApi, name: str) -> None:
    (topic,) = api.ask(MetadataRequest(topics=named(name))).topics
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (E.NONE, True, 50)
    assert api.services.catalogue.topics[name].configs["cleanup.policy"] == "compact"


def test_topics_are_found_by_id(api: CatalogueApi) -> None:
    topic_id, unknown = api.services.catalogue.topics["a"].topic_id, bytes(range(16))
    asked = [MetadataRequestTopic(name=None, topic_id=each) for each in (topic_id, unknown, ZERO_UUID)]
    for version in (12, 13):
        a, absent, neither = api.ask(MetadataRequest(topics=asked), version).topics
        assert (a.error_code, a.name, a.topic_id) == (E.NONE, "a", topic_id)
        assert (absent.error_code, absent.name, absent.topic_id) == (E.UNKNOWN_TOPIC_ID, None, unknown)
        assert neither.error_code == E.INVALID_REQUEST


@pytest.mark.parametrize("version", [10, 11])
def test_ids_are_refused_before_they_could_be_looked_up(api: CatalogueApi, version: int) -> None:
    topic_id = api.services.catalogue.topics["a"].topic_id
    for name in (None, "a"):
        answer = api.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=topic_id)]), version)
        assert [topic.error_code for topic in answer.topics] == [E.INVALID_REQUEST]


def test_a_topic_named_twice_is_told_once(api: CatalogueApi) -> None:
    assert [topic.name for topic in api.ask(MetadataRequest(topics=named("a", "b", "a"))).topics] == ["a", "b"]


@pytest.mark.parametrize("version", range(8, 14))
def test_what_a_client_may_do_is_told_when_asked(api: CatalogueApi, version: int) -> None:
    quiet = api.ask(MetadataRequest(topics=named("a")), version)
    assert (quiet.topics[0].topic_authorized_operations, quiet.cluster_authorized_operations) == (NOT_ASKED, NOT_ASKED)
    asked = MetadataRequest(topics=named("a"), include_topic_authorized_operations=True)
    asked.include_cluster_authorized_operations = version <= 10
    told = api.ask(asked, version)
    assert told.topics[0].topic_authorized_operations == ALL_TOPIC_OPERATIONS
    assert told.cluster_authorized_operations == (ALL_CLUSTER_OPERATIONS if version <= 10 else NOT_ASKED)


def test_the_leader_epoch_that_is_told_is_the_one_the_first_use_will_have(api: CatalogueApi) -> None:
    api.restart()
    (topic,) = api.ask(MetadataRequest(topics=named("a"))).topics
    told = [part.leader_epoch for part in topic.partitions]
    assert told == [2, 2], "0 when created, 1 when nobody led, 2 in this run"
    assert [api.services.catalogue.leader_epoch("a", number) for number in (0, 1)] == told


# --- DescribeCluster ---


@pytest.mark.parametrize("version", versions(DescribeClusterRequest))
def test_the_cluster_is_described(version: int) -> None:
    api = CatalogueApi({"broker.rack": "r1"})
    answer = api.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (E.NONE, CLUSTER_ID, 1)
    (broker,) = answer.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.rack, broker.is_fenced) == (
        1, "localhost", 9092, "r1", False,
    )  # fmt: skip
    assert answer.cluster_authorized_operations == ALL_CLUSTER_OPERATIONS
    quiet = api.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), version)
    assert quiet.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize(("kind", "code"), [(2, E.MISMATCHED_ENDPOINT_TYPE), (3, E.UNSUPPORTED_ENDPOINT_TYPE)])
def test_only_a_brokers_endpoint_is_described(api: CatalogueApi, kind: int, code: ErrorCode) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=kind)
    answer = api.ask(request)
    assert (answer.error_code, answer.brokers, answer.cluster_id) == (code, [], "")
    assert answer.cluster_authorized_operations == NOT_ASKED


# --- DescribeTopicPartitions ---


def pages(api: CatalogueApi, names: list[str], limit: int, cursor: tuple[str, int] | None = None) -> Any:
    answer = api.ask(
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
        )
    )
    told = [(each.name, each.error_code, [part.partition_index for part in each.partitions]) for each in answer.topics]
    after = answer.next_cursor
    return told, None if after is None else (after.topic_name, after.partition_index)


def test_topics_come_page_by_page_in_the_order_of_their_names(api: CatalogueApi) -> None:
    assert pages(api, ["b", "a", "b"], 2000) == ([("a", E.NONE, [0, 1]), ("b", E.NONE, [0])], None)
    assert pages(api, [], 1) == ([("a", E.NONE, [0])], ("a", 1))
    assert pages(api, [], 1, ("a", 1)) == ([("a", E.NONE, [1])], ("b", 0))
    assert pages(api, [], 1, ("b", 0)) == ([("b", E.NONE, [0])], None)
    assert pages(api, [], 2, ("aa", 1)) == ([("b", E.NONE, [0])], None), "a topic that is gone since"
    assert pages(api, ["a"], 5, ("a", 9)) == ([("a", E.NONE, [])], None)
    assert pages(api, [], -3) == ([("a", E.NONE, [0])], ("a", 1))


def test_the_brokers_own_limit_of_a_page_counts_too() -> None:
    api = CatalogueApi({"max.request.partition.size.limit": "3"})
    api.services.catalogue.create_topic("a", 5)
    assert pages(api, ["a"], 100) == ([("a", E.NONE, [0, 1, 2])], ("a", 3))


@pytest.mark.parametrize("cursor", [("a", -1), ("zzz", 0)])
def test_a_cursor_that_cannot_be_is_refused(api: CatalogueApi, cursor: tuple[str, int]) -> None:
    assert pages(api, ["a"], 5, cursor) == ([("a", E.INVALID_REQUEST, [])], None)


def test_missing_topics_are_answered_and_lists_are_never_null(api: CatalogueApi) -> None:
    told, _ = pages(api, ["nope", "a/b", ""], 5)
    assert [(name, code) for name, code, _ in told] == [
        ("", E.INVALID_TOPIC_EXCEPTION),
        ("a/b", E.INVALID_TOPIC_EXCEPTION),
        ("nope", E.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    answer = api.ask(DescribeTopicPartitionsRequest(topics=[TopicRequest(name="a")]))
    part = answer.topics[0].partitions[0]
    assert (part.eligible_leader_replicas, part.last_known_elr, part.offline_replicas) == ([], [], [])
    assert answer.topics[0].topic_authorized_operations == ALL_TOPIC_OPERATIONS


# --- ApiVersions ---


@pytest.mark.parametrize("version", versions(ApiVersionsRequest))
def test_every_api_of_the_table_is_offered_and_no_other(api: CatalogueApi, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="a-b.c", client_software_version="1")
    answer = api.ask(request, version)
    assert answer.error_code == E.NONE
    told = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert told == {row.key: (row.advertised_min_version, row.max_version) for row in API_TABLE}
    assert told[0][0] == 0, "Produce is offered from 0 on"


def test_features_are_told_that_mean_something_here(api: CatalogueApi) -> None:
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    v3, v4 = (api.ask(request, version) for version in (3, 4))
    assert {each.name for each in v3.supported_features} == {"metadata.version"}, (
        "older Java cannot read a minimum of 0"
    )
    assert {each.name for each in v4.supported_features} == {
        "metadata.version",
        "kraft.version",
        "eligible.leader.replicas.version",
        "group.version",
        "transaction.version",
    }
    assert [(each.name, each.max_version_level, each.min_version_level) for each in v4.finalized_features] == [
        ("group.version", 1, 1),
        ("kraft.version", 1, 1),
        ("metadata.version", 25, 25),
        ("transaction.version", 2, 2),
    ]
    assert v4.finalized_features_epoch > 0


@pytest.mark.parametrize("word", ["", "-a", "a-", "a b", "ä"])
def test_a_client_with_an_impossible_name_is_refused(api: CatalogueApi, word: str) -> None:
    for request in (
        ApiVersionsRequest(client_software_name=word, client_software_version="1"),
        ApiVersionsRequest(client_software_name="a", client_software_version=word),
    ):
        answer = api.ask(request)
        assert (answer.error_code, answer.api_keys) == (E.INVALID_REQUEST, [])


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "code"),
    [
        (None, -1, E.NONE),
        (CLUSTER_ID, NODE_ID, E.NONE),
        (CLUSTER_ID, NODE_ID + 1, E.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, -2, E.REBOOTSTRAP_REQUIRED),
        ("another", NODE_ID, E.REBOOTSTRAP_REQUIRED),
        ("", NODE_ID, E.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, -1, E.INVALID_REQUEST),
        ("another", -1, E.INVALID_REQUEST),
        (None, NODE_ID, E.INVALID_REQUEST),
    ],
)
def test_who_means_another_node_is_sent_back_to_where_it_began(
    api: CatalogueApi, cluster_id: str | None, node_id: int, code: ErrorCode
) -> None:
    request = ApiVersionsRequest(
        client_software_name="a", client_software_version="1", cluster_id=cluster_id, node_id=node_id
    )
    answer = api.ask(request, 5)
    assert (answer.error_code, bool(answer.api_keys)) == (code, code is E.NONE)
    assert api.ask(request, 4).error_code == E.NONE, "older versions do not carry it"


def test_an_impossible_name_is_refused_before_the_cluster_is_looked_at(api: CatalogueApi) -> None:
    request = ApiVersionsRequest(client_software_name="", client_software_version="1", cluster_id="another", node_id=1)
    assert api.ask(request, 5).error_code == E.INVALID_REQUEST


def test_an_unknown_version_is_answered_with_the_range_of_this_api_alone(api: CatalogueApi) -> None:
    answer = unsupported_version(api.services)
    assert answer.error_code == E.UNSUPPORTED_VERSION
    assert [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys] == [(18, 0, 5)]


# --- InitProducerId ---


@pytest.mark.parametrize("version", versions(InitProducerIdRequest))
def test_every_idempotent_producer_gets_an_id_of_its_own(api: CatalogueApi, version: int) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-5)
    answers = [api.ask(request, version) for _ in range(3)]
    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in answers] == [
        (E.NONE, 0, 0),
        (E.NONE, 1, 0),
        (E.NONE, 2, 0),
    ]


def test_an_idempotent_producer_that_had_an_id_gets_a_fresh_one(api: CatalogueApi) -> None:
    had = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1, producer_id=7, producer_epoch=3)
    assert [api.ask(had).producer_id for _ in range(2)] == [0, 1]


@pytest.mark.parametrize(
    ("transactional_id", "producer_id", "epoch", "code"),
    [
        (None, 7, -1, E.INVALID_REQUEST),
        (None, -1, 7, E.INVALID_REQUEST),
        ("t", 7, -1, E.INVALID_REQUEST),
    ],
)
def test_what_gets_no_id(
    api: CatalogueApi, transactional_id: str | None, producer_id: int, epoch: int, code: ErrorCode
) -> None:
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=1,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    answer = api.ask(request)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)
    assert not answer.error_code or not ErrorCode(answer.error_code).retriable


def test_a_full_disk_gives_no_id(api: CatalogueApi) -> None:
    api.world.files.fail("pwrite", errno.ENOSPC)
    answer = api.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1))
    assert (answer.error_code, answer.producer_id) == (E.KAFKA_STORAGE_ERROR, -1)

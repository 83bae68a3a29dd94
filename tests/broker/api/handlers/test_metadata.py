"""Metadata, DescribeCluster, DescribeTopicPartitions, ApiVersions: what clients are told."""

import errno
from typing import Any

import pytest

from barnabas.broker.api.api_table import API_TABLE
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.primitives import ZERO_UUID
from tests.support.worlds.catalogue_api import CatalogueApi, versions

E = ErrorCode


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi(topics={"a": 2, "b": 1})


def named(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


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


def test_a_missing_topic_is_not_created_unless_the_broker_allows_it() -> None:
    strict = CatalogueApi({"auto.create.topics.enable": "false"})
    (topic,) = strict.ask(MetadataRequest(topics=named("new"))).topics
    assert topic.error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    assert not strict.services.catalogue.topics


@pytest.mark.parametrize(
    ("name", "code"), [("with_dot", E.INVALID_TOPIC_EXCEPTION), ("__share_group_state", E.UNKNOWN_TOPIC_OR_PARTITION)]
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


def test_the_leader_epoch_that_is_told_is_the_one_the_first_use_will_have(api: CatalogueApi) -> None:
    api.restart()
    (topic,) = api.ask(MetadataRequest(topics=named("a"))).topics
    told = [part.leader_epoch for part in topic.partitions]
    assert told == [2, 2], "0 when created, 1 when nobody led, 2 in this run"
    assert [api.services.catalogue.leader_epoch("a", number) for number in (0, 1)] == told


# --- DescribeCluster ---


def test_the_rack_of_the_broker_is_reported() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    (broker,) = CatalogueApi({"broker.rack": "r1"}).ask(request).brokers
    assert (broker.broker_id, broker.rack) == (1, "r1")


# --- DescribeTopicPartitions ---


def pages(api: CatalogueApi, names: list[str], limit: int, cursor: tuple[str, int] | None = None) -> Any:
    topics = [TopicRequest(name=name) for name in names]
    place = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
    answer = api.ask(DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=place))
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
    api = CatalogueApi({"max.request.partition.size.limit": "3"}, topics={"a": 5})
    assert pages(api, ["a"], 100) == ([("a", E.NONE, [0, 1, 2])], ("a", 3))


# --- ApiVersions ---


@pytest.mark.parametrize("version", versions(ApiVersionsRequest))
def test_every_api_of_the_table_is_offered_and_no_other(api: CatalogueApi, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="a-b.c", client_software_version="1")
    answer = api.ask(request, version)
    assert answer.error_code == E.NONE
    told = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert told == {row.key: (row.advertised_min_version, row.max_version) for row in API_TABLE}
    assert told[0][0] == 0, "Produce is offered from 0 on"


# --- InitProducerId ---


def test_a_full_disk_gives_no_id(api: CatalogueApi) -> None:
    api.world.files.fail("pwrite", errno.ENOSPC)
    answer = api.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1))
    assert (answer.error_code, answer.producer_id) == (E.KAFKA_STORAGE_ERROR, -1)

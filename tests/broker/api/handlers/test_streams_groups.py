"""StreamsGroupHeartbeat and StreamsGroupDescribe, and what other APIs say of streams groups."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.coordinator.group.decisions.streams.model import StreamsConfig
from barnabas.broker.metadata.image.features import STREAMS_VERSION
from barnabas.broker.services import Deferred
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.protocol.messages.streams_group_heartbeat import (
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)
from barnabas.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    TopologyDescription,
)
from tests.support.requests import join_group
from tests.support.worlds.group_api import GroupApi

E = ErrorCode
INTERNAL = {"app-by-word-repartition": 3, "app-counts-changelog": 3}


@pytest.fixture
def api(api: GroupApi) -> GroupApi:
    """A broker that offers streams groups, with the topics `t` (3 partitions) and `u` (1)."""
    api.catalogue._image.features[STREAMS_VERSION] = 1
    api.world.streams_config = StreamsConfig(assignment_interval_ms=0)
    return api


def topic(name: str, **configs: str) -> TopicInfo:
    pairs = [KeyValue(key=key.replace("_", "."), value=value) for key, value in configs.items()]
    return TopicInfo(name=name, partitions=0, replication_factor=0, topic_configs=pairs)


def subtopology(subtopology_id: str, sources: Iterable[str] = (), **fields: Any) -> Subtopology:
    given: dict[str, Any] = {
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
    }
    return Subtopology(subtopology_id=subtopology_id, source_topics=list(sources), **given | fields)


def counting() -> Topology:
    """A program that counts the words of the topic `t`."""
    repartition, changelog = INTERNAL
    return Topology(
        epoch=0,
        subtopologies=[
            subtopology("0", ["t"], repartition_sink_topics=[repartition]),
            subtopology(
                "1",
                repartition_source_topics=[topic(repartition, cleanup_policy="delete")],
                state_changelog_topics=[topic(changelog, cleanup_policy="compact")],
            ),
        ],
    )


def beat(api: GroupApi, member_id: str = "m", epoch: int = 0, version: int = 1, **fields: Any) -> Any:
    if epoch == 0:
        nothing: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        begin = {"rebalance_timeout_ms": 300_000, "topology": counting(), "process_id": "p"} | nothing
        fields = begin | fields
    request = StreamsGroupHeartbeatRequest(
        group_id="app", member_id=member_id, member_epoch=epoch, **{"endpoint_information_epoch": 0} | fields
    )
    return api.ask(request, version)


def running(api: GroupApi, **fields: Any) -> Any:
    """The answer that assigns all tasks to the first member."""
    beat(api, **fields)
    for name, partitions in INTERNAL.items():
        api.world.topics.make(name, partitions)
    beat(api, epoch=1)
    api.world.advance(3_000)
    return beat(api, epoch=1)


def tasks(answer: Any) -> list[tuple[str, list[int]]]:
    return [(each.subtopology_id, each.partitions) for each in answer.active_tasks]


def statuses(answer: Any) -> list[tuple[int, str]]:
    return [(each.status_code, each.status_detail) for each in answer.status]


def described(api: GroupApi, version: int = 1) -> Any:
    request = StreamsGroupDescribeRequest(group_ids=["app"], include_authorized_operations=False)
    return api.ask(request, version).groups[0]


@pytest.mark.parametrize("version", [0, 1])
def test_the_first_heartbeat_has_the_internal_topics_created(api: GroupApi, version: int) -> None:
    answer = beat(api, version=version)
    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms) == (E.NONE, 1, 5_000)
    lag = answer.acceptable_recovery_lag if version else answer.acceptable_recovery_lag_legacy
    assert (answer.task_offset_interval_ms, lag) == (60_000, 10_000)
    assert [code for code, _ in statuses(answer)] == [5, 3]
    assert statuses(answer)[1][1] == f"Internal topics are missing: {', '.join(INTERNAL)}"
    assert tasks(answer) == []
    topics = api.catalogue.topics
    assert {name: len(topics[name].partitions) for name in INTERNAL} == INTERNAL
    assert topics["app-counts-changelog"].configs["cleanup.policy"] == "compact"


def test_a_member_gets_all_tasks_after_the_delay(api: GroupApi) -> None:
    answer = running(api)
    assert (answer.member_epoch, answer.status) == (3, [])
    assert tasks(answer) == [("0", [0, 1, 2]), ("1", [0, 1, 2])]
    owned = [TaskIds(subtopology_id=each, partitions=[0, 1, 2]) for each in "01"]
    again = beat(api, epoch=3, active_tasks=owned, standby_tasks=[], warmup_tasks=[])
    assert (again.error_code, again.active_tasks, again.partitions_by_user_endpoint) == (E.NONE, None, None)


def test_a_topology_of_very_many_subtopologies_is_stored_and_compared_in_steps(api: GroupApi) -> None:
    def many(last: str) -> Topology:
        return Topology(epoch=0, subtopologies=[subtopology(name, ["t"]) for name in (*map(str, range(299)), last)])

    answer = beat(api, topology=many("299"))
    assert (answer.error_code, [code for code, _ in statuses(answer)]) == (E.NONE, [5])
    assert beat(api, "n", topology=many("299")).error_code == E.NONE
    assert beat(api, "o", topology=many("300")).error_message == "Topology updates are not supported yet."
    stored = described(api).topology.subtopologies
    api.world.crash()
    api.services = replace(api.services, deferred_groups=Deferred(lambda: api.world.coordinator))
    api.world.coordinator.prepare("app")
    api.world.turns()
    assert described(api).topology.subtopologies == stored
    assert len(stored) == 300


def test_a_group_survives_a_crash(api: GroupApi) -> None:
    running(api)
    api.world.crash()
    api.services = replace(api.services, deferred_groups=Deferred(lambda: api.world.coordinator))
    api.world.coordinator.prepare("app")
    api.world.turns()
    assert beat(api, epoch=3).member_epoch == 3
    assert described(api).group_state == "Stable"
    api.world.advance(45_000)
    assert described(api).group_state == "Empty"


def test_a_group_is_described_as_it_runs(api: GroupApi) -> None:
    beat(api, user_endpoint=Endpoint(host="h", port=80), client_tags=[KeyValue(key="zone", value="a")])
    group = described(api)
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "NotReady", 2, 1)
    assert [topic.partitions for each in group.topology.subtopologies for topic in each.state_changelog_topics] == [0]
    running(api)
    group = described(api)
    assert (group.group_state, group.assignor_name) == ("Stable", "sticky")
    (changelog,) = group.topology.subtopologies[1].state_changelog_topics
    assert (changelog.name, changelog.partitions) == ("app-counts-changelog", 3)
    (member,) = group.members
    assert (member.process_id, member.client_host, member.user_endpoint.port) == ("p", "/10.0.0.9", 80)
    assert [(each.key, each.value) for each in member.client_tags] == [("zone", "a")]
    assert member.assignment == member.target_assignment
    assert described(api, version=0).group_state == "Stable"


def test_reported_offsets_are_described(api: GroupApi) -> None:
    reported = {"task_offsets": [(0, 7), (2, 9)], "task_end_offsets": [(0, 10)]}
    fields: dict[str, Any] = {
        name: [TaskOffset(subtopology_id="1", partition=number, offset=offset) for number, offset in pairs]
        for name, pairs in reported.items()
    }
    beat(api, **fields)
    (member,) = described(api).members
    assert {name: [(each.partition, each.offset) for each in getattr(member, name)] for name in reported} == reported


def test_an_endpoint_is_told_with_its_partitions(api: GroupApi) -> None:
    answer = running(api, user_endpoint=Endpoint(host="h", port=80))
    (endpoint,) = answer.partitions_by_user_endpoint
    assert (endpoint.user_endpoint.host, len(endpoint.active_partitions)) == ("h", 2)


@pytest.mark.parametrize(
    ("fields", "code", "why"),
    [
        ({"topology": None}, E.INVALID_REQUEST, "Topology must be non-null when (re-)joining."),
        ({"rebalance_timeout_ms": -1}, E.INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request."),
        ({"member_id": " "}, E.INVALID_REQUEST, "MemberId can't be empty."),
        ({"standby_tasks": None}, E.INVALID_REQUEST, "If one task-type is non-null, all must be non-null."),
        (
            {"active_tasks": [TaskIds(subtopology_id="0", partitions=[0])]},
            E.INVALID_REQUEST,
            "ActiveTasks must be empty when (re-)joining.",
        ),
        (
            {"active_tasks": None, "standby_tasks": None, "warmup_tasks": None},
            E.INVALID_REQUEST,
            "ActiveTasks must be empty when (re-)joining.",
        ),
        (
            {"topology": Topology(epoch=0, subtopologies=[subtopology("0", [""])])},
            E.STREAMS_INVALID_TOPOLOGY,
            "Topic names  are not valid topic names.",
        ),
        ({"epoch": -3}, E.INVALID_REQUEST, "MemberEpoch is -3, but must be greater than or equal to -2."),
        ({"epoch": -2}, E.INVALID_REQUEST, "InstanceId can't be null."),
        ({"epoch": 1, "topology": counting()}, E.INVALID_REQUEST, "Topology can only be provided when (re-)joining."),
        ({"epoch": 1}, E.GROUP_ID_NOT_FOUND, "Streams group app not found."),
        ({"epoch": -1}, E.GROUP_ID_NOT_FOUND, "Group app not found."),
        (
            {"topology": Topology(epoch=0, subtopologies=[subtopology("0", source_topic_regex=["a"])])},
            E.INVALID_REQUEST,
            "Regular expressions for source topics are not supported yet.",
        ),
        (
            {"topology": Topology(epoch=0, subtopologies=[subtopology("0", ["__consumer_offsets"])])},
            E.STREAMS_INVALID_TOPOLOGY,
            "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is prohibited.",
        ),
        (
            {"topology": Topology(epoch=0, subtopologies=[subtopology("0", ["a b"])])},
            E.STREAMS_INVALID_TOPOLOGY,
            "Topic names a b are not valid topic names.",
        ),
    ],
)
def test_a_refusal_has_kafkas_sentence(api: GroupApi, fields: dict[str, Any], code: ErrorCode, why: str) -> None:
    answer = beat(api, **fields)
    assert (answer.error_code, answer.error_message) == (code, why)


def test_missing_source_topics_are_a_status(api: GroupApi) -> None:
    answer = beat(api, topology=Topology(epoch=0, subtopologies=[subtopology("0", ["missing"])]))
    assert statuses(answer)[1] == (1, "Source topics missing are missing.")


def test_a_topic_that_cannot_be_created_is_told(api: GroupApi) -> None:
    declared = counting()
    declared.subtopologies[1].state_changelog_topics[0].topic_configs[0].value = "nonsense"
    detail = statuses(beat(api, topology=declared))[1][1]
    assert "; Creation failed: app-counts-changelog (" in detail


@pytest.mark.parametrize(("version", "codes"), [(0, [5, 3]), (1, [5, 3, 6])])
def test_missing_tags_are_a_status_since_version_1(api: GroupApi, version: int, codes: list[int]) -> None:
    api.world.streams_config = replace(api.world.streams_config, rack_aware_tags=("zone",))
    assert [code for code, _ in statuses(beat(api, version=version))] == codes


def test_without_the_feature_there_is_no_such_protocol(api: GroupApi) -> None:
    del api.catalogue._image.features[STREAMS_VERSION]
    assert beat(api).error_code == E.UNSUPPORTED_VERSION
    assert described(api).error_code == E.UNSUPPORTED_VERSION


def test_an_unknown_group_and_an_empty_id_are_told(api: GroupApi) -> None:
    request = StreamsGroupDescribeRequest(group_ids=["", "x"], include_authorized_operations=False)
    assert [group.error_code for group in api.ask(request, 1).groups] == [E.INVALID_GROUP_ID, E.GROUP_ID_NOT_FOUND]


def test_other_apis_know_the_group(api: GroupApi) -> None:
    running(api)
    (listed,) = api.ask(ListGroupsRequest(states_filter=[], types_filter=["Streams"]), 5).groups
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
        "app",
        "streams",
        "Stable",
        "streams",
    )
    other = ConsumerGroupDescribeRequest(group_ids=["app"], include_authorized_operations=False)
    assert api.ask(other, 1).groups[0].error_code == E.GROUP_ID_NOT_FOUND
    delete = DeleteGroupsRequest(groups_names=["app"])
    assert api.ask(delete, 2).results[0].error_code == E.NON_EMPTY_GROUP
    assert beat(api, epoch=-1).member_epoch == -1
    assert api.ask(delete, 2).results[0].error_code == E.NONE
    assert described(api).error_code == E.GROUP_ID_NOT_FOUND


def test_offsets_are_deleted_for_topics_that_the_topology_does_not_read(api: GroupApi) -> None:
    running(api)
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        for name in "tu"
    ]
    answer = api.ask(OffsetDeleteRequest(group_id="app", topics=topics), 0)
    assert answer.error_code == E.NONE
    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"t": E.GROUP_SUBSCRIBED_TO_TOPIC, "u": E.NONE}


def test_only_an_empty_group_becomes_classic(api: GroupApi) -> None:
    join = join_group("app")
    running(api)
    assert api.ask(join, 3).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    beat(api, epoch=-1)
    joined = api.begin(join, 3)
    api.world.advance(10_000)
    assert joined.result().error_code == E.NONE
    (listed,) = api.ask(ListGroupsRequest(states_filter=[], types_filter=[]), 5).groups
    assert (listed.group_id, listed.group_type) == ("app", "classic")


def test_a_topology_description_is_refused_since_no_plugin_stores_it(api: GroupApi) -> None:
    description = TopologyDescription(subtopologies=[], global_stores=[])
    sent = StreamsGroupTopologyDescriptionUpdateRequest(
        group_id="g", member_id="m", topology_epoch=0, topology_description=description
    )
    answer = api.ask(sent, 0)
    assert (answer.error_code, answer.error_message) == (
        E.UNSUPPORTED_VERSION,
        "The broker has no streams group topology description plugin configured.",
    )
    api.catalogue._image.features[STREAMS_VERSION] = 0
    answer = api.ask(sent, 0)
    assert (answer.error_code, answer.error_message) == (E.UNSUPPORTED_VERSION, None)

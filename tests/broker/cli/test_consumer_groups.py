"""`barnabas groups` and `barnabas consume` with consumer groups (KIP-848), against scripted answers."""

import json
from collections.abc import Iterator

import pytest

from barnabas.broker.cli.kafka import main as kafka_tool
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import streams_group_describe
from barnabas.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from barnabas.protocol.messages.describe_groups import DescribedGroup as DescribedClassicGroup
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.share_group_describe import (
    DescribedGroup as DescribedShareGroup,
)
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from barnabas.protocol.registry import ApiKey
from tests.support.command_line import Barnabas, run_here
from tests.support.scripted.broker import Answer
from tests.support.scripted.consumer_group import ConsumerGroup
from tests.support.scripted.group import TOPIC

DESCRIBE = ApiKey.CONSUMER_GROUP_DESCRIBE


class Groups(ConsumerGroup):
    """Of the groups "new" (consumer), "old" (classic) and "shared" (share) only the first has members."""

    def __init__(self) -> None:
        super().__init__(0, 1)
        self.script[ApiKey.LIST_GROUPS] = self._list
        self.script[DESCRIBE] = self._describe
        self.script[ApiKey.DESCRIBE_GROUPS] = self._describe_classic
        self.script[ApiKey.SHARE_GROUP_DESCRIBE] = self._describe_shared
        self.script[ApiKey.STREAMS_GROUP_DESCRIBE] = lambda request: (
            streams_group_describe.StreamsGroupDescribeResponse(
                groups=[_missing_streams(name) for name in request.group_ids]
            )
        )

    def _list(self, request: ListGroupsRequest) -> Answer:
        types = {"new": "consumer", "old": "classic", "shared": "share"}
        groups = [
            ListedGroup(group_id=name, protocol_type="consumer", group_state="Empty", group_type=kind)
            for name, kind in types.items()
            if not request.types_filter or kind in request.types_filter
        ]
        return ListGroupsResponse(error_code=0, groups=groups)

    def _describe(self, request: ConsumerGroupDescribeRequest) -> Answer:
        (name,) = request.group_ids
        code = ErrorCode.NONE if name == "new" else ErrorCode.GROUP_ID_NOT_FOUND
        group = DescribedGroup(
            error_code=code,
            error_message=None,
            group_id=name,
            group_state="Reconciling",
            group_epoch=4,
            assignment_epoch=3,
            assignor_name="uniform",
            members=[
                _member("b", 3, assigned=[1, 0], target=[0], member_type=1),
                _member("a", 2, assigned=[], target=[1], member_type=0, regex="t.*"),
            ],
        )
        return ConsumerGroupDescribeResponse(groups=[group])

    def _describe_classic(self, request: DescribeGroupsRequest) -> Answer:
        (name,) = request.groups
        code = ErrorCode.NONE if name == "old" else ErrorCode.GROUP_ID_NOT_FOUND
        group = DescribedClassicGroup(
            error_code=code,
            error_message=None,
            group_id=name,
            group_state="Empty",
            protocol_type="consumer",
            protocol_data="",
            members=[],
        )
        return DescribeGroupsResponse(groups=[group])

    def _describe_shared(self, request: ShareGroupDescribeRequest) -> Answer:
        (name,) = request.group_ids
        code = ErrorCode.NONE if name == "shared" else ErrorCode.GROUP_ID_NOT_FOUND
        group = DescribedShareGroup(
            error_code=code,
            error_message=None,
            group_id=name,
            group_state="Empty",
            group_epoch=2,
            assignment_epoch=2,
            assignor_name="simple",
            members=[],
        )
        return ShareGroupDescribeResponse(groups=[group])


def _missing_streams(name: str) -> streams_group_describe.DescribedGroup:
    return streams_group_describe.DescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        group_id=name,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        members=[],
    )


def _member(
    name: str, epoch: int, assigned: list[int], target: list[int], member_type: int, regex: str | None = None
) -> Member:
    def topics(numbers: list[int]) -> Assignment:
        found = [TopicPartitions(topic_id=bytes(16), topic_name=TOPIC, partitions=numbers)] if numbers else []
        return Assignment(topic_partitions=found)

    return Member(
        member_id=name,
        instance_id=f"{name}1",
        rack_id=None,
        member_epoch=epoch,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=[] if regex else [TOPIC, "s"],
        subscribed_topic_regex=regex,
        assignment=topics(assigned),
        target_assignment=topics(target),
        member_type=member_type,
    )


@pytest.fixture
def groups() -> Iterator[Groups]:
    with Groups() as broker:
        yield broker


@pytest.fixture
def scripted(groups: Groups, offline: Barnabas) -> Barnabas:
    """The command line against the scripted broker."""
    return lambda *arguments: offline(*arguments, "--bootstrap-server", groups.address)


def test_a_consumer_group_is_described_with_epochs_targets_and_subscriptions(scripted: Barnabas) -> None:
    title, header, *rows = scripted("groups", "describe", "new").stdout.splitlines()
    facts = "type consumer  assignor uniform  group epoch 4  assignment epoch 3  2 members"
    assert title == f"new  Reconciling  {facts}"
    assert header.split()[-4:] == ["assignment", "target", "epoch", "subscription"]
    assert [row.split() for row in rows] == [
        ["a", "a1", "c", "/h", "-", "t:1", "2", "/t.*/"],
        ["b", "b1", "c", "/h", "t:0,1", "t:0", "3", "s,t"],
    ]


def test_programs_are_told_the_same(scripted: Barnabas) -> None:
    (group,) = json.loads(scripted("groups", "describe", "new", "--json").stdout)
    assert {key: group[key] for key in ("type", "state", "protocol", "group_epoch", "assignment_epoch")} == {
        "type": "consumer",
        "state": "Reconciling",
        "protocol": "uniform",
        "group_epoch": 4,
        "assignment_epoch": 3,
    }
    first, second = group["members"]
    assert (first["type"], first["epoch"], first["target"], first["regex"]) == ("classic", 2, {TOPIC: [1]}, "t.*")
    assert (second["type"], second["assignment"], second["topics"]) == ("consumer", {TOPIC: [0, 1]}, ["s", "t"])


def test_without_a_name_groups_of_all_kinds_are_described(scripted: Barnabas) -> None:
    found = json.loads(scripted("groups", "describe", "--json").stdout)
    types = [(each["group"], each["type"]) for each in found]
    assert types == [("new", "consumer"), ("old", "classic"), ("shared", "share")]
    assert "group_epoch" not in found[1]


def test_a_broker_without_consumer_groups_is_queried_for_classic_ones(groups: Groups, scripted: Barnabas) -> None:
    del groups.offered[DESCRIBE]
    (group,) = json.loads(scripted("groups", "describe", "old", "--json").stdout)
    assert (group["type"], groups.of(ConsumerGroupDescribeRequest)) == ("classic", [])


@pytest.mark.parametrize("offers_newer_types", [True, False])
def test_a_group_of_no_kind_is_not_there(groups: Groups, scripted: Barnabas, *, offers_newer_types: bool) -> None:
    if not offers_newer_types:
        del groups.offered[ApiKey.SHARE_GROUP_DESCRIBE], groups.offered[ApiKey.STREAMS_GROUP_DESCRIBE]
    outcome = scripted("groups", "describe", "nobody")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("barnabas: GROUP_ID_NOT_FOUND: group 'nobody': ")


def test_consumer_groups_are_listed_by_type(scripted: Barnabas) -> None:
    listed = json.loads(scripted("groups", "list", "--type", "CONSUMER", "--json").stdout)
    assert [(each["group"], each["type"]) for each in listed] == [("new", "consumer")]


def test_a_consumer_group_is_read(groups: Groups, scripted: Barnabas) -> None:
    words = ["consume", TOPIC, "--group", "g", "--group-protocol", "consumer", "--max-messages", "4"]
    words += ["--group-instance-id", "i", "--group-remote-assignor", "range", "--print-partition"]
    assert scripted(*words) == (0, "0\t0\n1\t0\n0\t1\n1\t1\n", "")
    first, *_, last = groups.heartbeats
    assert (first.subscribed_topic_names, first.subscribed_topic_regex) == ([TOPIC], None)
    assert (first.instance_id, first.server_assignor, last.member_epoch) == ("i", "range", -2)
    assert groups.offsets == {0: 2, 1: 2, 2: 0, 3: 0}


def test_topics_are_found_by_a_regular_expression(groups: Groups, scripted: Barnabas) -> None:
    words = ["consume", "[a-z]", "--regex", "--group", "g", "--group-protocol", "consumer", "--max-messages", "2"]
    assert scripted(*words) == (0, "0\n0\n", "")
    first, *_, last = groups.heartbeats
    assert (first.subscribed_topic_names, first.subscribed_topic_regex) == ([], "[a-z]")
    assert last.member_epoch == -1


def test_kafkas_console_consumer_may_request_the_protocol(
    groups: Groups, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = ["kafka-console-consumer", "--topic", TOPIC, "--group", "g", "--max-messages", "2"]
    properties = ["group.protocol=CONSUMER", "group.instance.id=i", "group.remote.assignor=range"]
    asked = [word for each in properties for word in ("--consumer-property", each)]
    tool = run_here(kafka_tool, capsysbinary)
    assert tool(*words, *asked, "--bootstrap-server", groups.address).stdout == "0\n0\n"
    assert (groups.heartbeats[0].instance_id, groups.heartbeats[0].server_assignor) == ("i", "range")

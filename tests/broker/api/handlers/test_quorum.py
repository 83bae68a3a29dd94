"""The quorum is described, gains no voter and loses none; no broker and no controller is unregistered."""

from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.unregister_controller import UnregisterControllerRequest
from barnabas.protocol.primitives import ZERO_UUID, uuid_text
from tests.support.worlds.catalogue import DIRECTORY_ID
from tests.support.worlds.catalogue_api import CLUSTER_ID, CatalogueApi, versions

E = ErrorCode
LOG = "__cluster_metadata"
ANOTHER = b"another director"
TIMES_SINCE, DIRECTORIES_SINCE = 1, 2


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi()


def describe(api: CatalogueApi, *topics: tuple[str, list[int]], version: int | None = None) -> Any:
    asked = [
        DescribeQuorumRequestTopicData(
            topic_name=name,
            partitions=[DescribeQuorumRequestPartitionData(partition_index=number) for number in numbers],
        )
        for name, numbers in topics
    ]
    return api.ask(DescribeQuorumRequest(topics=asked), version)


@pytest.mark.parametrize("version", versions(DescribeQuorumRequest))
def test_this_node_leads_and_nobody_else_is_there(api: CatalogueApi, version: int) -> None:
    answer = describe(api, (LOG, [0]), version=version)
    ((partition,),) = [topic.partitions for topic in answer.topics]
    assert (answer.error_code, partition.error_code, partition.leader_id) == (E.NONE, E.NONE, 1)
    (voter,) = partition.current_voters
    assert (voter.replica_id, partition.observers) == (1, [])
    assert voter.log_end_offset == partition.high_watermark == api.services.catalogue.features_epoch
    now_ms = api.services.clock.now_ms() if version >= TIMES_SINCE else -1
    assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == (now_ms, now_ms)
    has_directories = version >= DIRECTORIES_SINCE
    assert voter.replica_directory_id == (DIRECTORY_ID if has_directories else ZERO_UUID)
    assert [(node.node_id, node.listeners) for node in answer.nodes] == ([(1, [])] if has_directories else [])


def test_the_log_grows_with_each_change_and_the_epoch_with_each_run(api: CatalogueApi) -> None:
    def state() -> tuple[int, int]:
        ((partition,),) = [topic.partitions for topic in describe(api, (LOG, [0])).topics]
        return partition.leader_epoch, partition.high_watermark

    epoch, end = state()
    api.services.catalogue.create_topic("t", 1)
    assert state() == (epoch, end + 2), "the topic and its partition"
    api.restart()
    assert state()[0] == epoch + 1


def add(
    api: CatalogueApi,
    voter_id: int,
    directory_id: bytes = ANOTHER,
    cluster_id: str | None = CLUSTER_ID,
    listener: str = "CONTROLLER",
    version: int | None = None,
) -> tuple[ErrorCode, str | None]:
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=1_000,
        voter_id=voter_id,
        voter_directory_id=directory_id,
        listeners=[Listener(name=listener, host="elsewhere", port=9093)],
    )
    answer = api.ask(request, version)
    return E(answer.error_code), answer.error_message


@pytest.mark.parametrize("version", versions(AddRaftVoterRequest))
def test_another_voter_is_never_ready(api: CatalogueApi, version: int) -> None:
    new = f"ReplicaKey(id=2, directoryId={uuid_text(ANOTHER)})"
    answer = (E.REQUEST_TIMED_OUT, f"New voter {new} is not ready to receive requests")
    assert add(api, 2, version=version) == answer
    assert add(api, 2, cluster_id=None, listener="controller", version=version) == answer


@pytest.mark.parametrize("directory_id", [DIRECTORY_ID, ANOTHER])
def test_this_node_is_a_voter_already_whichever_directory_is_named(api: CatalogueApi, directory_id: bytes) -> None:
    code, words = add(api, 1, directory_id)
    assert code == E.DUPLICATE_VOTER
    assert words is not None
    assert f"set of voters [ReplicaKey(id=1, directoryId={uuid_text(DIRECTORY_ID)})]" in words


@pytest.mark.parametrize(
    ("broker_id", "code"), [(2, E.BROKER_ID_NOT_REGISTERED), (-1, E.BROKER_ID_NOT_REGISTERED), (1, E.INVALID_REQUEST)]
)
def test_no_broker_is_unregistered(api: CatalogueApi, broker_id: int, code: ErrorCode) -> None:
    answer = api.ask(UnregisterBrokerRequest(broker_id=broker_id))
    assert answer.error_code == code
    assert str(broker_id) in answer.error_message


@pytest.mark.parametrize(
    ("controller_id", "code"), [(1, ErrorCode.INVALID_REQUEST), (2, ErrorCode.CONTROLLER_ID_NOT_REGISTERED)]
)
def test_no_controller_is_unregistered(api: CatalogueApi, controller_id: int, code: ErrorCode) -> None:
    answer = api.ask(UnregisterControllerRequest(controller_id=controller_id))
    assert answer.error_code == code
    assert answer.error_message.startswith(f"Controller ID {controller_id} is ")

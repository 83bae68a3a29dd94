"""Kafka's own tests (of 4.3.1) of share groups, streams groups and their tools, with a Barnabas for their clusters.

Of Streams those classes that try `group.protocol=streams`, each beside the classic protocol. Not among the classes is
`ShareConsumerRackAwareTest`, whose assignor is a Java class for the broker.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.clients.own_tests import run_own_tests
from tests.support.waiting import PATIENCE_S

_SHARE_CONSUMERS = "org.apache.kafka.clients.consumer.ShareConsumerTest"
_STREAMS = "org.apache.kafka.streams.integration"
_REQUESTS = "kafka.server"
_TOOLS = "org.apache.kafka.tools.streams"
SHARE_CONSUMERS_OF_ALL_KINDS = [
    f"{_SHARE_CONSUMERS}#{name}"
    for name in (
        "testAcknowledgementCommitCallbackOnClose",
        "testBehaviorOnDeliveryCountBoundary",
        "testControlRecordsSkipped",
        "testExplicitAcknowledgeReleaseAccept",
        "testLeaderRestartWithoutLeadershipChangeExplicitAcknowledgementSync",
        "testPollInRecordLimitMode",
        "testRenewAcknowledgementOnCommitSync",
        "testSharePartitionLagAfterAlterShareGroupOffsets",
    )
]
WITH_THEIR_OWN_CLUSTERS = {
    _SHARE_CONSUMERS: 108,
    "org.apache.kafka.clients.admin.DynamicGroupConfigIntegrationTest": 3,
    f"{_REQUESTS}.ShareFetchAcknowledgeRequestTest": 52,
    f"{_REQUESTS}.ShareGroupDescribeRequestTest": 1,
    f"{_REQUESTS}.ShareGroupHeartbeatRequestTest": 8,
    f"{_REQUESTS}.ShareGroupHeartbeatRequestTest$WithAssignmentBatchingDisabledTest": 8,
    f"{_REQUESTS}.StreamsGroupDescribeRequestTest": 1,
    f"{_REQUESTS}.StreamsGroupHeartbeatRequestTest": 10,
    f"{_REQUESTS}.StreamsGroupHeartbeatRequestTest$WithAssignmentBatchingDisabledTest": 10,
}
"""How many cases pass, by class."""
SHORT_CLASSES = {f"{_STREAMS}.InternalTopicIntegrationTest": 6, f"{_TOOLS}.ListStreamsGroupTest": 5}
LONG_CLASSES = {
    f"{_STREAMS}.EosIntegrationTest": 38,
    f"{_STREAMS}.HandlingSourceTopicDeletionIntegrationTest": 2,
    f"{_STREAMS}.IQv2EndpointToPartitionsIntegrationTest": 4,
    f"{_STREAMS}.IQv2IntegrationTest": 14,
    f"{_STREAMS}.IQv2VersionedStoreIntegrationTest": 2,
    f"{_STREAMS}.JoinWithIncompleteMetadataIntegrationTest": 2,
    f"{_STREAMS}.KStreamRepartitionIntegrationTest": 52,
    f"{_STREAMS}.KafkaStreamsTelemetryIntegrationTest": 6,
    f"{_STREAMS}.MetricsIntegrationTest": 6,
    f"{_STREAMS}.QueryableStateIntegrationTest": 12,
    f"{_STREAMS}.RebalanceProtocolMigrationIntegrationTest": 2,
    f"{_STREAMS}.RestoreIntegrationTest": 18,
    f"{_STREAMS}.RocksDBMetricsIntegrationTest": 2,
    f"{_STREAMS}.SmokeTestDriverIntegrationTest": 2,
    f"{_STREAMS}.StandbyTaskCreationIntegrationTest": 4,
    f"{_STREAMS}.StreamsUncaughtExceptionHandlerIntegrationTest": 14,
    f"{_TOOLS}.DeleteStreamsGroupOffsetTest": 12,
    f"{_TOOLS}.DeleteStreamsGroupTest": 8,
    f"{_TOOLS}.DescribeStreamsGroupTest": 11,
    f"{_TOOLS}.ResetStreamsGroupOffsetTest": 7,
}
LEFT_OUT = {
    "(ShareGroup|StreamsGroup).*IsIn[aA]ccessibleWhen(Configs)?Disabled": "a refusal of ours has a message",
    "testStreamsGroupDescribeWhenFeatureFlagNotEnabled": "the same",
    "testStreamsGroupHeartbeatIsInaccessibleWhenOffsetTopicNotExist": "the first request for a group creates the topic",
    "Streams.*testFencedMemberCanRejoinWithEpochZero": "as Kafka 4.4.0, we name two intervals that 4.3.1 does not know",
    "should(PushMetrics|PushGlobalThreadMetrics)ToBroker": "their broker takes a Java class that collects metrics",
    "shouldShutdownSingleThreadApplication": "counts lines that two threads of Streams log, once or twice by chance",
}


def test_some_of_share_consumers(tmp_path: Path) -> None:
    outcomes = run_own_tests(SHARE_CONSUMERS_OF_ALL_KINDS, tmp_path, PATIENCE_S, one_by_one=False)
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert len(outcomes.passed) == len(SHARE_CONSUMERS_OF_ALL_KINDS)


def test_some_of_streams_and_its_tools(tmp_path: Path) -> None:
    check_classes(SHORT_CLASSES, tmp_path, one_by_one=True)


@pytest.mark.long
def test_those_with_a_cluster_for_each_case(tmp_path: Path) -> None:
    check_classes(WITH_THEIR_OWN_CLUSTERS, tmp_path, one_by_one=False)


@pytest.mark.long
def test_more_of_streams_and_its_tools(tmp_path: Path) -> None:
    check_classes(LONG_CLASSES, tmp_path, one_by_one=True)


def check_classes(passes: dict[str, int], tmp_path: Path, *, one_by_one: bool) -> None:
    outcomes = run_own_tests(passes, tmp_path, 10 * PATIENCE_S, one_by_one=one_by_one, left_out=LEFT_OUT)
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert Counter(name.partition("#")[0] for name in outcomes.passed) == {
        name.rpartition(".")[2]: count for name, count in passes.items()
    }

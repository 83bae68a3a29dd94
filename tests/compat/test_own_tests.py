"""Kafka's own tests (of 4.3.1) of share consumers, Streams and its tools, with a Barnabas in place of their clusters.

Of Streams those classes that try `group.protocol=streams`, each beside the classic protocol.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.clients.own_tests import run_own_tests
from tests.support.waiting import PATIENCE_S

_SHARE_CONSUMERS = "org.apache.kafka.clients.consumer.ShareConsumerTest"
_STREAMS = "org.apache.kafka.streams.integration"
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
SHORT_CLASSES = {f"{_STREAMS}.InternalTopicIntegrationTest": 6, f"{_TOOLS}.ListStreamsGroupTest": 5}
LONG_CLASSES = {
    f"{_STREAMS}.HandlingSourceTopicDeletionIntegrationTest": 2,
    f"{_STREAMS}.JoinWithIncompleteMetadataIntegrationTest": 2,
    f"{_STREAMS}.RebalanceProtocolMigrationIntegrationTest": 2,
    f"{_STREAMS}.StandbyTaskCreationIntegrationTest": 4,
    f"{_TOOLS}.DeleteStreamsGroupOffsetTest": 12,
    f"{_TOOLS}.DeleteStreamsGroupTest": 8,
    f"{_TOOLS}.DescribeStreamsGroupTest": 11,
    f"{_TOOLS}.ResetStreamsGroupOffsetTest": 7,
}
"""How many cases pass, by class."""


def test_some_of_share_consumers(tmp_path: Path) -> None:
    outcomes = run_own_tests(SHARE_CONSUMERS_OF_ALL_KINDS, tmp_path, PATIENCE_S, one_by_one=False)
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert len(outcomes.passed) == len(SHARE_CONSUMERS_OF_ALL_KINDS)


def test_some_of_streams_and_its_tools(tmp_path: Path) -> None:
    check_classes(SHORT_CLASSES, tmp_path)


@pytest.mark.long
def test_all_of_share_consumers(tmp_path: Path) -> None:
    outcomes = run_own_tests([_SHARE_CONSUMERS], tmp_path, 10 * PATIENCE_S, one_by_one=False)
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert len(outcomes.passed) == 108


@pytest.mark.long
def test_more_of_streams_and_its_tools(tmp_path: Path) -> None:
    check_classes(LONG_CLASSES, tmp_path)


def check_classes(passes: dict[str, int], tmp_path: Path) -> None:
    outcomes = run_own_tests(passes, tmp_path, 10 * PATIENCE_S, one_by_one=True)
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert Counter(name.partition("#")[0] for name in outcomes.passed) == {
        name.rpartition(".")[2]: count for name, count in passes.items()
    }

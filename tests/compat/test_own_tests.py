"""Kafka's own tests of share consumers (`ShareConsumerTest` of 4.3.1), each with a Barnabas in place of its cluster."""

from pathlib import Path

import pytest

from tests.support.clients.own_tests import run_own_tests
from tests.support.waiting import PATIENCE_S

SHARE_CONSUMERS = "org.apache.kafka.clients.consumer.ShareConsumerTest"
OF_ALL_KINDS = [
    "testAcknowledgementCommitCallbackOnClose",
    "testBehaviorOnDeliveryCountBoundary",
    "testControlRecordsSkipped",
    "testExplicitAcknowledgeReleaseAccept",
    "testLeaderRestartWithoutLeadershipChangeExplicitAcknowledgementSync",
    "testPollInRecordLimitMode",
    "testRenewAcknowledgementOnCommitSync",
    "testSharePartitionLagAfterAlterShareGroupOffsets",
]


def test_some_of_share_consumers(tmp_path: Path) -> None:
    outcomes = run_own_tests(SHARE_CONSUMERS, tmp_path, PATIENCE_S, OF_ALL_KINDS)
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert outcomes.passed == OF_ALL_KINDS


@pytest.mark.long
def test_all_of_share_consumers(tmp_path: Path) -> None:
    outcomes = run_own_tests(SHARE_CONSUMERS, tmp_path, 10 * PATIENCE_S)
    assert not outcomes.failures, "\n".join(outcomes.failures)
    assert len(outcomes.passed) == 108

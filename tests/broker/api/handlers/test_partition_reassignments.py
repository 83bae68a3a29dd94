"""AlterPartitionReassignments and ListPartitionReassignments: a partition is where it can be, and stays there."""

from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.support.worlds.catalogue_api import CatalogueApi, versions

E = ErrorCode
VERSIONS = versions(AlterPartitionReassignmentsRequest)
Wish = tuple[int, list[int] | None]


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi(topics={"t": 3})


def alter(
    api: CatalogueApi,
    *topics: tuple[str, list[Wish]],
    version: int | None = None,
    timeout_ms: int = 60_000,
    may_change: bool = True,
) -> Any:
    asked = [
        ReassignableTopic(
            name=name,
            partitions=[ReassignablePartition(partition_index=number, replicas=wanted) for number, wanted in wishes],
        )
        for name, wishes in topics
    ]
    request = AlterPartitionReassignmentsRequest(
        topics=asked, timeout_ms=timeout_ms, allow_replication_factor_change=may_change
    )
    return api.ask(request, version)


def found(answer: Any) -> list[tuple[str, list[tuple[int, ErrorCode, str | None]]]]:
    return [
        (each.name, [(row.partition_index, E(row.error_code), row.error_message) for row in each.partitions])
        for each in answer.responses
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_replicas_that_are_there_are_no_change_and_done(api: CatalogueApi, version: int) -> None:
    before = api.services.catalogue.features_epoch
    answer = alter(api, ("t", [(0, [1]), (2, [1]), (0, [1])]), version=version)
    assert (answer.error_code, answer.error_message) == (E.NONE, None)
    assert found(answer) == [("t", [(0, E.NONE, None), (2, E.NONE, None), (0, E.NONE, None)])]
    assert api.services.catalogue.features_epoch == before, "nothing was written"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ([2], "The manual partition assignment includes broker 2, but no such broker is registered."),
        ([1, 2], "The manual partition assignment includes broker 2, but no such broker is registered."),
        ([-1], "The manual partition assignment includes broker -1, but no such broker is registered."),
        ([2, 1, 1], "The manual partition assignment includes the broker 1 more than once."),
        ([1, 1], "The manual partition assignment includes the broker 1 more than once."),
        ([], "The manual partition assignment includes an empty replica list."),
    ],
)
@pytest.mark.parametrize("may_change", [True, False])
def test_other_replicas_are_refused(api: CatalogueApi, wanted: list[int], words: str, may_change: bool) -> None:
    answer = alter(api, ("t", [(0, wanted), (1, [1])]), may_change=may_change)
    assert (answer.error_code, answer.allow_replication_factor_change) == (E.NONE, may_change)
    assert found(answer) == [("t", [(0, E.INVALID_REPLICA_ASSIGNMENT, words), (1, E.NONE, None)])]


def test_missing_resources_are_named(api: CatalogueApi) -> None:
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert found(alter(api, ("t", [(3, [1]), (-1, None)]), ("nobody", [(0, [2])]), ("", []))) == [
        ("t", [(3, unknown, "Unable to find partition t:3."), (-1, unknown, "Unable to find partition t:-1.")]),
        ("nobody", [(0, unknown, "Unable to find a topic named nobody.")]),
        ("", []),
    ]

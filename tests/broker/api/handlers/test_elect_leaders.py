"""ElectLeaders: nothing is ever to be elected, and what does not exist is named."""

from typing import Any

import pytest

from barnabas.broker.runtime.refusals import WORDS_MAX
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.support.worlds.catalogue_api import CatalogueApi, versions

E = ErrorCode
PREFERRED = 0
VERSIONS = versions(ElectLeadersRequest)
NOT_NEEDED = (E.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi(topics={"t": 3, "other": 1})


def elect(
    api: CatalogueApi, *topics: tuple[str, list[int]], version: int | None = None, election_type: int = PREFERRED
) -> Any:
    asked = [TopicPartitions(topic=name, partitions=partitions) for name, partitions in topics]
    request = ElectLeadersRequest(election_type=election_type, topic_partitions=asked)
    return api.ask(request, version)


def elect_all(api: CatalogueApi, election_type: int) -> Any:
    return api.ask(ElectLeadersRequest(election_type=election_type, topic_partitions=None, timeout_ms=1))


def found(answer: Any) -> list[tuple[str, list[tuple[int, ErrorCode, str | None]]]]:
    return [
        (each.topic, [(row.partition_id, E(row.error_code), row.error_message) for row in each.partition_result])
        for each in answer.replica_election_results
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_has_its_leader_in_every_version(api: CatalogueApi, version: int) -> None:
    answer = elect(api, ("t", [0, 2, 2]), ("other", [0]), version=version)
    assert answer.error_code == E.NONE
    of_t = [(0, *NOT_NEEDED), (2, *NOT_NEEDED), (2, *NOT_NEEDED)]
    assert found(answer) == [("t", of_t), ("other", [(0, *NOT_NEEDED)])]


def test_missing_resources_are_named(api: CatalogueApi) -> None:
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert found(elect(api, ("t", [3, -1]), ("nobody", [0]), ("", []))) == [
        ("t", [(3, unknown, "No such partition as t-3"), (-1, unknown, "No such partition as t--1")]),
        ("nobody", [(0, unknown, "No such topic as nobody")]),
        ("", []),
    ]


@pytest.mark.parametrize("election_type", [2, -1])
def test_an_unknown_election_type_refuses_the_whole_request(api: CatalogueApi, election_type: int) -> None:
    answer = elect(api, ("t", [0]), ("nobody", [0]), election_type=election_type)
    why = (0, E.INVALID_REQUEST, f"Unknown election type {election_type}")
    assert (answer.error_code, found(answer)) == (E.INVALID_REQUEST, [("t", [why]), ("nobody", [why])])
    answer = elect_all(api, election_type=election_type)
    assert (answer.error_code, found(answer)) == (E.INVALID_REQUEST, [])


def test_so_many_partitions_have_words_and_all_have_codes(api: CatalogueApi) -> None:
    ((_, rows),) = found(elect(api, ("x" * 5_000, [0] * (WORDS_MAX + 2))))
    assert {code for _, code, _ in rows} == {E.UNKNOWN_TOPIC_OR_PARTITION}
    assert [words is None for _, _, words in rows] == [False] * WORDS_MAX + [True] * 2

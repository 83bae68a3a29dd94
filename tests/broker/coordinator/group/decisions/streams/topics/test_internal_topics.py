"""Which internal topics a topology needs, and which topics it cannot run with."""

from collections.abc import Mapping

import pytest

from barnabas.broker.coordinator.group.decisions.streams.topics.copartitioning import TopicProblem, TopologyStatus
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology, configured
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import topology_of
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.streams_group import StoredSubtopology
from barnabas.storage.steps import finish
from tests.support.worlds.streams_topics import StreamsTopics
from tests.support.worlds.streams_world import COUNTING, internal, subtopology, topology


def on(topics: Mapping[str, int], *subtopologies: StoredSubtopology) -> ConfiguredTopology:
    return finish(configured(topology(*subtopologies), StreamsTopics(topics)))


def wrong(detail: str) -> TopicProblem:
    return TopicProblem(TopologyStatus.INCORRECTLY_PARTITIONED_TOPICS, detail)


def test_internal_topics_get_the_number_of_their_sources() -> None:
    found = on({"words": 3}, *COUNTING)
    assert [(topic.name, topic.partitions) for topic in found.missing] == [("by-word", 3), ("counts", 3)]
    assert found.missing[1].configs == {"a": "b"}
    assert found.problem == TopicProblem(
        TopologyStatus.MISSING_INTERNAL_TOPICS, "Internal topics are missing: by-word, counts"
    )
    assert {name: each.tasks_count for name, each in found.subtopologies.items()} == {"0": 3, "1": 3}
    assert [each.is_stateful for each in found.subtopologies.values()] == [False, True]


def test_a_topology_is_ready_once_its_topics_exist() -> None:
    found = on({"words": 3, "by-word": 3, "counts": 3}, *COUNTING)
    assert found.is_ready
    assert not found.missing


def test_missing_sources_are_named_three_at_most() -> None:
    found = on({}, subtopology("0", ["d", "a", "c", "b"]))
    assert found.problem == TopicProblem(
        TopologyStatus.MISSING_SOURCE_TOPICS, "Source topics a, b, c and 1 additional topics are missing."
    )
    assert not found.subtopologies


def test_an_existing_topic_of_another_size_is_a_problem() -> None:
    found = on({"words": 3, "by-word": 3, "counts": 2}, *COUNTING)
    assert found.problem == wrong("Existing topic counts has different number of partitions: expected 3, found 2")


def test_a_chain_of_repartition_topics_is_followed_in_any_order() -> None:
    found = on(
        {"words": 4},
        subtopology("0", repartitions=[internal("second")], changelogs=[internal("state")]),
        subtopology("1", repartitions=[internal("first")], sinks=["second"]),
        subtopology("2", ["words"], sinks=["first"]),
    )
    assert {topic.name: topic.partitions for topic in found.missing} == {"first": 4, "second": 4, "state": 4}


def join(*, left: int = 0, right: int = 0) -> tuple[StoredSubtopology, ...]:
    """Two topics of 2 and 3 partitions, repartitioned to be joined."""
    return (
        subtopology("0", ["two"], sinks=["left"]),
        subtopology("1", ["three"], sinks=["right"]),
        subtopology("2", repartitions=[internal("left", left), internal("right", right)], copartitioned=[([], [0, 1])]),
    )


@pytest.mark.parametrize(
    ("left", "right", "decided"),
    [
        (0, 0, 3),  # the larger of the sources
        (5, 0, 5),
        (5, 5, 5),
    ],
)
def test_joined_repartition_topics_get_one_number(left: int, right: int, decided: int) -> None:
    found = on({"two": 2, "three": 3}, *join(left=left, right=right))
    assert {topic.name: topic.partitions for topic in found.missing} == {"left": decided, "right": decided}


def test_joined_repartition_topics_must_not_declare_different_numbers() -> None:
    found = on({"two": 2, "three": 3}, *join(left=5, right=6))
    assert found.problem == wrong("Following topics do not have the same number of partitions: [{left=5, right=6}]")


def test_a_repartition_topic_follows_the_external_topic_that_it_is_joined_with() -> None:
    of_join = subtopology("1", ["three"], repartitions=[internal("left")], copartitioned=[([0], [0])])
    found = on({"two": 2, "three": 3}, subtopology("0", ["two"], sinks=["left"]), of_join)
    assert {topic.name: topic.partitions for topic in found.missing} == {"left": 3}


def test_a_declared_number_must_be_that_of_the_joined_external_topic() -> None:
    of_join = subtopology("1", ["three"], repartitions=[internal("left", 2)], copartitioned=[([0], [0])])
    found = on({"two": 2, "three": 3}, subtopology("0", ["two"], sinks=["left"]), of_join)
    detail = "repartition topic [left] doesn't match number of partitions [3] of the source topic."
    assert found.problem == wrong(f"Number of partitions [2] of {detail}")


def test_joined_external_topics_must_agree() -> None:
    found = on({"two": 2, "three": 3}, subtopology("0", ["two", "three"], copartitioned=[([0, 1], [])]))
    assert found.problem == wrong("Following topics do not have the same number of partitions: [{three=3, two=2}]")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([subtopology("0", repartitions=[internal("a")], sinks=["a"])], "There may be loops"),
        ([subtopology("0", ["two"], repartitions=[internal("a")])], "never used as a sink topic"),
        ([subtopology("0")], "No source topics found for subtopology 0"),
    ],
)
def test_a_pattern_that_fits_no_topic_is_refused(parts: list[StoredSubtopology], why: str) -> None:
    with pytest.raises(KafkaError, match=why) as refused:
        on({"two": 2}, *parts)
    assert refused.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


@pytest.mark.parametrize(
    ("parts", "epoch"),
    [
        ([subtopology("0"), subtopology("0")], 0),
        ([subtopology("0", copartitioned=[([0], [])])], 0),
        ([subtopology("0", ["a"], copartitioned=[([-1], [])])], 0),
        ([subtopology("0")], -1),
    ],
)
def test_an_invalid_topology_is_an_unknown_server_error(parts: list[StoredSubtopology], epoch: int) -> None:
    with pytest.raises(KafkaError) as refused:
        topology(*parts, epoch=epoch)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_topology_is_its_record_again() -> None:
    declared = topology(*COUNTING)
    assert finish(topology_of(declared.stored())) == declared
    assert finish(declared.required_topics()) == {"words", "by-word", "counts"}
    assert declared.by_source_topic == {"words": "0", "by-word": "1"}

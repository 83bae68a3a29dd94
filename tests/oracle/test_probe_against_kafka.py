"""The same bytes to Barnabas and to Apache Kafka, good and bad ones: both must answer the same.

A probe is a small conversation (tests/support/probes); what is each server's own affair is blotted out before the
outcomes are compared. Where we differ on purpose, `DIFFERENT` says so with the decision that explains it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support.broker_process import BrokerProcess
from tests.support.kafka_process import KafkaProcess
from tests.support.probes import fetch, framing, group_admin, groups, produce, topics
from tests.support.probes.wire import Target, frame
from tests.support.waiting import until

MODULES = (framing, topics, produce, fetch, groups, group_admin)
PROBES: dict[str, Callable[[Target], Any]] = {
    f"{module.__name__.rpartition('.')[2]}: {name}": probe
    for module in MODULES
    for name, probe in module.PROBES.items()
}
TOPICS = produce.TOPICS | fetch.TOPICS | topics.TOPICS | groups.TOPICS | group_admin.TOPICS
Outcomes = dict[str, Any]
PARTITIONS = 3
KEPT = {"retention.ms": "-1"}  # the records are years old

# What differs and why; the decision behind it is in docs/decisions.
_ANSWERED = "0060: Kafka's is UNKNOWN_SERVER_ERROR, out of an exception that nobody foresaw; ours says what is wrong"
_LENIENT = "0060: a limit below zero is taken for zero"
_TWICE = "0060: what is named twice is answered twice"
DIFFERENT: dict[str, str] = {
    "framing: an array of length -2": "0051: Kafka takes any negative length for null",
    "topics: set by an unknown operation": _ANSWERED,
    "topics: metadata of a zero id": _ANSWERED,
    "produce: compression 5": _ANSWERED,
    "produce: compression 7": _ANSWERED,
    "produce: a topic that compresses and damaged gzip": _ANSWERED,
    "produce: a partition twice": "0060: Kafka appends the last one only and says nothing of the others",
    "produce: a partition twice in one topic": "0060: as above",
    "fetch: max_bytes -1": _LENIENT,
    "fetch: partition_max_bytes -1": _LENIENT,
    "fetch: isolation level 2": _ANSWERED,
    "fetch: isolation level -1": _ANSWERED,
    "fetch: a partition twice": _TWICE,
    "fetch: offsets of a partition twice": _TWICE,
    "fetch: offsets at isolation level 3": _ANSWERED,
}


def _outcomes(port: int) -> Outcomes:
    target = Target(port)
    _make_topics(target)
    fetch.fill(target)
    return {name: _outcome(probe, target) for name, probe in PROBES.items()}


def _outcome(probe: Callable[[Target], Any], target: Target) -> Any:
    try:
        return probe(target)
    except Exception as error:  # a probe that fails is one outcome among others, shown by its own test
        return f"the probe failed: {error!r}"


def _make_topics(target: Target) -> None:
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=PARTITIONS,
                replication_factor=1,
                assignments=[],
                configs=[
                    CreatableTopicConfig(name=key, value=value)
                    for key, value in ({"retention.ms": "-1"} | configs).items()
                ],
            )
            for name, configs in TOPICS.items()
        ]
    )
    with target.connect() as wire:
        wire.send(frame(request))
        for topic in wire.answer_to(request).topics:
            assert topic.error_code == 0, topic
            target.topic_ids[topic.name] = topic.topic_id
    until(lambda: _has_leaders(target))
    until(lambda: _has_coordinators(target))


def _has_leaders(target: Target) -> bool:
    """Kafka's broker learns of a topic some time after the controller said that it is there."""
    asked = [(name, index, -1) for name in TOPICS for index in range(PARTITIONS)]
    answer = fetch.list_offsets(*asked)(target)
    return not any(each["error_code"] for topic in answer["topics"] for each in topic["partitions"])


def _has_coordinators(target: Target) -> bool:
    """The first question makes the topic of offsets, and every partition of it is loaded for itself."""
    found = target.ask(FindCoordinatorRequest(coordinator_keys=["probe"]), 4)["coordinators"]
    answers = (target.ask(groups.fetched(f"group-{n}", []), 7) for n in range(200))
    producer = target.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4)
    return found[0]["error_code"] == producer["error_code"] == 0 and all(each["error_code"] == 0 for each in answers)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcomes, Outcomes]:
    """What Barnabas made of each probe, and what Apache Kafka did."""
    directory = tmp_path_factory.mktemp("probe")
    with BrokerProcess(directory / "ours") as ours, KafkaProcess(directory / "kafkas") as kafkas:
        with ThreadPoolExecutor(2) as pool:
            found, expected = pool.map(_outcomes, (ours.port, kafkas.port))
        assert "Traceback" not in ours.log, ours.log
    return found, expected


@pytest.mark.parametrize("name", [name for name in PROBES if name not in DIFFERENT])
def test_both_answer_the_same(outcomes: tuple[Outcomes, Outcomes], name: str) -> None:
    ours, kafkas = outcomes
    assert ours[name] == kafkas[name]


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_said_to_differ_differs(outcomes: tuple[Outcomes, Outcomes], name: str) -> None:
    ours, kafkas = outcomes
    assert ours[name] != kafkas[name], DIFFERENT[name]

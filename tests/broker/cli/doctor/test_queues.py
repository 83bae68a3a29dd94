"""Findings about share groups of a running broker: their feature level, and topics that get no dead letters."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Barnabas
from barnabas.broker.cli.doctor import queues
from barnabas.broker.cli.doctor.finding import Level
from barnabas.broker.cli.doctor.queues import DeadLetterTopic, level_findings, topic_findings
from barnabas.client.addresses import Address
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.clients.queues import set_of_group

HERE = Address("broker", 9092)
AT = "--bootstrap-server broker:9092"
UNSAFE_DOWNGRADE = 3
ENABLED = "errors.deadletterqueue.group.enable"
GOOD: dict[str, Any] = {
    "name": "dlq.jobs",
    "groups": ("a", "b"),
    "exists": True,
    "is_enabled": True,
    "is_compacted": False,
    "may_create": False,
    "prefix": "dlq.",
}


@pytest.fixture
def client() -> Iterator[Client]:
    with Barnabas(in_process=True, topics={"jobs": 1}) as broker, Client(broker.bootstrap_servers) as connected:
        yield connected


def set_dead_letter_topic(client: Client, group: str, topic: str) -> None:
    set_of_group(client, group, {"errors.deadletterqueue.topic.name": topic})


def test_without_share_groups_there_is_no_finding(client: Client) -> None:
    assert queues.examine(client, HERE) == []


def test_a_share_group_at_a_level_that_has_them_is_fine(client: Client) -> None:
    with ShareConsumer(client, "workers", ["jobs"]) as member:
        member.poll(0)
        (found,) = queues.examine(client, HERE)
    assert (found.check, found.level, found.text) == (
        "queues",
        Level.OK,
        "share groups are enabled: share.version is 2",
    )


def test_a_group_is_named_whose_members_are_refused(client: Client) -> None:
    member = ShareConsumer(client, "workers", ["jobs"])
    member.poll(0)
    lowered = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=UNSAFE_DOWNGRADE)
    client.ask_any(UpdateFeaturesRequest(feature_updates=[lowered]))
    client.close()
    (found,) = queues.examine(client, HERE)
    assert found.text == "share.version is 0, so members of these share groups are refused: workers"
    assert found.advice == f"raise it: kafka-features.sh {AT} upgrade --feature share.version=2"


def test_topics_that_get_no_dead_letters_are_named_with_their_groups(client: Client) -> None:
    create_topic(client, "dlq.plain", partitions=1)
    create_topic(client, "dlq.good", partitions=1, configs={ENABLED: "true"})
    for group, topic in {"a": "dlq.plain", "b": "dlq.missing", "c": "dlq.plain", "d": "dlq.good"}.items():
        set_dead_letter_topic(client, group, topic)
    missing, plain = queues.examine(client, HERE)
    assert missing.text.startswith("dead letters of b for topic dlq.missing are lost: the topic does not exist")
    assert missing.advice == f"barnabas topics create dlq.missing --config {ENABLED}=true {AT}"
    assert plain.text == f"dead letters of a, c for topic dlq.plain are lost: {ENABLED} is not set for the topic"
    assert plain.advice == f"barnabas configs alter --topic dlq.plain --set {ENABLED}=true {AT}"
    assert {missing.level, plain.level} == {Level.PROBLEM}


@pytest.mark.parametrize(
    ("differs", "advice"),
    [
        ({"exists": False, "is_enabled": False}, "topics create dlq.jobs"),
        ({"is_enabled": False}, f"--set {ENABLED}=true"),
        ({"is_compacted": True}, "--set cleanup.policy=delete"),
        ({"prefix": "dead."}, "begins with dead."),
    ],
)
def test_each_reason_has_its_advice(differs: dict[str, Any], advice: str) -> None:
    (found,) = topic_findings(DeadLetterTopic(**{**GOOD, **differs}), HERE)
    assert advice in (found.advice or "")


def test_a_name_without_the_prefix_is_the_reason_though_the_topic_is_missing() -> None:
    absent = {"prefix": "dead.", "exists": False, "is_enabled": False}
    (found,) = topic_findings(DeadLetterTopic(**{**GOOD, **absent}), HERE)
    assert "the name does not begin with" in found.text


@pytest.mark.parametrize("differs", [{}, {"exists": False, "may_create": True}, {"prefix": ""}])
def test_a_topic_that_gets_dead_letters_has_no_finding(differs: dict[str, Any]) -> None:
    assert topic_findings(DeadLetterTopic(**{**GOOD, **differs}), HERE) == []


@pytest.mark.parametrize(
    ("level", "groups", "with_dead_letters", "text"),
    [
        (0, ["g"], [], "share.version is 0, so members of these share groups are refused: g"),
        (1, ["g"], ["g"], "share.version is 1, so these groups get no dead letters: g"),
        (1, ["g"], [], None),
        (2, ["g"], ["g"], None),
        (0, [], ["g"], None),
    ],
)
def test_the_level_is_compared_with_the_groups(
    level: int, groups: list[str], with_dead_letters: list[str], text: str | None
) -> None:
    assert [each.text for each in level_findings(level, groups, with_dead_letters, HERE)] == (
        [] if text is None else [text]
    )


def test_many_groups_are_cut_short() -> None:
    (found,) = level_findings(0, [f"g{number}" for number in range(11)], [], HERE)
    assert found.text.endswith("g8, g9 …")

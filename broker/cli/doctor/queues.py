"""The share groups of a running broker: are they enabled, and can their dead letters be written (KIP-932, KIP-1191)?

Works with Apache Kafka, too. A group's settings may exist before the group; so both are listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.broker.cli.doctor.finding import CheckResult, ok, problem, warning
from barnabas.broker.partitions.share.dead_letters import refusal
from barnabas.client.addresses import Address
from barnabas.client.admin.configs import ResourceType, describe_configs, list_resources
from barnabas.client.admin.groups import list_groups
from barnabas.client.admin.topics import list_topics
from barnabas.client.client import Client
from barnabas.client.errors import UnsupportedByBroker
from barnabas.protocol.errors import KafkaError

_CHECK = "queues"
_FEATURE = "share.version"
_DEAD_LETTERS_SINCE = 2
_TOPIC_NAME = "errors.deadletterqueue.topic.name"
_ENABLED, _CLEANUP_POLICY = "errors.deadletterqueue.group.enable", "cleanup.policy"
_MAY_CREATE = "errors.deadletterqueue.auto.create.topics.enable"
_PREFIX = "errors.deadletterqueue.topic.name.prefix"
_NAMED_MAX = 10


class DeadLetterTopic(NamedTuple):
    """A topic that groups have for dead letters, and the settings that decide whether it gets them."""

    name: str
    groups: tuple[str, ...]
    exists: bool
    is_enabled: bool
    is_compacted: bool
    may_create: bool
    prefix: str


def examine(client: Client, address: Address) -> list[CheckResult]:
    """Return findings about share groups of the broker at this address; none if there are no such groups.

    The requests change nothing.
    """
    try:
        groups = [each.group_id for each in list_groups(client, types=["share"])]
        topics_of = _dead_letter_topics(client, groups)
        if not groups and not topics_of:
            return []
        level = client.controller(client.deadline()).features.get(_FEATURE, 0)
        findings = level_findings(level, groups, sorted(topics_of), address)
        if level >= _DEAD_LETTERS_SINCE:
            findings += [finding for each in _examined(client, topics_of) for finding in topic_findings(each, address)]
    except UnsupportedByBroker:
        return []
    except KafkaError as failed:
        return [warning(_CHECK, f"the broker does not report its share groups: {failed}")]
    return findings or [ok(_CHECK, f"share groups are enabled: {_FEATURE} is {level}")]


def level_findings(level: int, groups: list[str], with_dead_letters: list[str], address: Address) -> list[CheckResult]:
    """Return findings about the level of share.version, for groups that exist and groups with dead-letter topics."""
    advice = f"raise it: kafka-features.sh --bootstrap-server {address} upgrade --feature {_FEATURE}=2"
    if level == 0 and groups:
        text = f"{_FEATURE} is 0, so members of these share groups are refused: {_listed(groups)}"
        return [warning(_CHECK, text, advice)]
    if 0 < level < _DEAD_LETTERS_SINCE and with_dead_letters:
        text = f"{_FEATURE} is {level}, so these groups get no dead letters: {_listed(with_dead_letters)}"
        return [warning(_CHECK, text, advice)]
    return []


def topic_findings(topic: DeadLetterTopic, address: Address) -> list[CheckResult]:
    """Return why a topic gets no dead letters, if it gets none."""
    has_prefix = topic.name.startswith(topic.prefix)
    # Without it another topic is needed, so the state of this one is no reason.
    reason = refusal(
        topic.name,
        exists=topic.exists or not has_prefix,
        is_enabled=topic.is_enabled or not has_prefix,
        may_create=topic.may_create,
        prefix=topic.prefix,
    )
    if not reason and topic.is_compacted:
        reason = f"its {_CLEANUP_POLICY} is compact, so records without keys are refused"
    if not reason:
        return []
    text = f"dead letters of {_listed(topic.groups)} for topic {topic.name} are lost: {reason}"
    return [problem(_CHECK, text, _remedy(topic, address))]


def _remedy(topic: DeadLetterTopic, address: Address) -> str:
    if not topic.name.startswith(topic.prefix):
        return f"choose a name that begins with {topic.prefix}, and set {_TOPIC_NAME} of the groups to it"
    if not topic.exists:
        return f"barnabas topics create {topic.name} --config {_ENABLED}=true --bootstrap-server {address}"
    wrong = f"{_CLEANUP_POLICY}=delete" if topic.is_enabled else f"{_ENABLED}=true"
    return f"barnabas configs alter --topic {topic.name} --set {wrong} --bootstrap-server {address}"


def _dead_letter_topics(client: Client, groups: Iterable[str]) -> dict[str, str]:
    """Return the dead-letter topic of each group that has one."""
    found = {}
    for group in sorted({*groups, *_configured_groups(client)}):
        for config in describe_configs(client, ResourceType.GROUP, group, [_TOPIC_NAME]):
            if config.value:
                found[group] = config.value
    return found


def _configured_groups(client: Client) -> list[str]:
    try:
        return list_resources(client, ResourceType.GROUP)
    except UnsupportedByBroker:
        return []


def _examined(client: Client, topics_of: dict[str, str]) -> list[DeadLetterTopic]:
    known = {each.name for each in list_topics(client)}
    broker = _values(client, ResourceType.BROKER, str(min(client.cluster.brokers)), [_MAY_CREATE, _PREFIX])
    topics = []
    for name in sorted(set(topics_of.values())):
        values = _values(client, ResourceType.TOPIC, name, [_ENABLED, _CLEANUP_POLICY]) if name in known else {}
        topics.append(
            DeadLetterTopic(
                name=name,
                groups=tuple(group for group, topic in topics_of.items() if topic == name),
                exists=name in known,
                is_enabled=values.get(_ENABLED) == "true",
                is_compacted="compact" in values.get(_CLEANUP_POLICY, ""),
                may_create=broker.get(_MAY_CREATE) == "true",
                prefix=broker.get(_PREFIX, ""),
            )
        )
    return topics


def _values(client: Client, resource: ResourceType, name: str, keys: list[str]) -> dict[str, str]:
    return {each.name: each.value or "" for each in describe_configs(client, resource, name, keys)}


def _listed(groups: Iterable[str]) -> str:
    names = list(groups)
    return ", ".join(names[:_NAMED_MAX]) + (" …" if len(names) > _NAMED_MAX else "")

"""What a seed must fulfil beyond the shape of its fields, decided before anything of it is applied. Pure.

A topic, a group and a user stand once; what is named is there; a partition is one of its topic's; nothing follows a
transaction that is left open under the same id.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import NamedTuple

from msgspec import UNSET

from barnabas.broker.security.acl.acl import PatternType, Permission
from barnabas.broker.security.session.operations import CLUSTER_NAME, SUPPORTED, Operation, Resource, camel_case
from barnabas.broker.server.seeding.document import SeedAcl
from barnabas.broker.server.seeding.positions import Path
from barnabas.broker.server.seeding.reading import SeedSource
from barnabas.client.admin.acls import AclBinding
from barnabas.client.near_names import did_you_mean

RESOURCES: Mapping[str, Resource] = {
    "topic": Resource.TOPIC,
    "group": Resource.GROUP,
    "transactional_id": Resource.TRANSACTIONAL_ID,
    "delegation_token": Resource.DELEGATION_TOKEN,
    "user": Resource.USER,
    "cluster": Resource.CLUSTER,
}
"""The fields of an ACL that name its resource."""
OPERATIONS: Mapping[str, Operation] = {camel_case(each.name): each for each in Operation}
"""By Kafka's names, as in DescribeConfigs."""


class BrokerFacts(NamedTuple):
    """The state of a broker before a seed: its topics with the number of their partitions, and its defaults."""

    topics: Mapping[str, int]
    num_partitions: int
    message_bytes_max: int
    transaction_timeout_ms_max: int


def check(source: SeedSource, facts: BrokerFacts) -> None:
    """Check all but the records themselves. Raises SeedError for the first thing that is wrong."""
    seed = source.seed
    _check_once(source, "topics", (each.name for each in seed.topics), "the topic")
    _check_once(source, "groups", (each.group_id for each in seed.groups), "the group")
    _check_once(source, "users", (each.name for each in seed.users), "the user")
    for index, topic in enumerate(seed.topics):
        if topic.name in facts.topics:
            raise source.error(("topics", index, "name"), f"the topic {topic.name} is there already")
    partitions = partitions_of(source, facts)
    for index in range(len(seed.transactions)):
        _check_transaction(source, index, partitions, facts.transaction_timeout_ms_max)
    _check_groups(source, partitions)
    for index in range(len(seed.acls)):
        bindings(source, index)


def partitions_of(source: SeedSource, facts: BrokerFacts) -> dict[str, int]:
    """Return the number of partitions by topic: of those of the seed, and of those that are there."""
    return {**facts.topics, **{each.name: each.partitions or facts.num_partitions for each in source.seed.topics}}


def bindings(source: SeedSource, index: int) -> list[AclBinding]:
    """Return the entries of an ACL of the seed, one for each operation. Raises SeedError."""
    acl, path = source.seed.acls[index], ("acls", index)
    resource, name = _resource(source, acl, path)
    found = []
    for number, operation in enumerate(acl.operations):
        if operation not in OPERATIONS:
            what = f"there is no operation {operation}{did_you_mean(operation, OPERATIONS)}"
            raise source.error((*path, "operations", number), what)
        if OPERATIONS[operation] not in (*SUPPORTED[resource], Operation.ALL):
            what = f"{operation} is no operation of this kind of resource"
            raise source.error((*path, "operations", number), what)
        found.append(
            AclBinding(
                resource_type=resource,
                resource_name=name,
                pattern_type=PatternType.PREFIXED if acl.pattern == "prefixed" else PatternType.LITERAL,
                principal=acl.principal,
                host=acl.host,
                operation=OPERATIONS[operation],
                permission_type=Permission.ALLOW if acl.permission == "allow" else Permission.DENY,
            )
        )
    return found


def _resource(source: SeedSource, acl: SeedAcl, path: Path) -> tuple[Resource, str]:
    given = [field for field in RESOURCES if getattr(acl, field) is not UNSET]
    if len(given) != 1:
        raise source.error(path, f"exactly one of {', '.join(RESOURCES)} is needed")
    return RESOURCES[given[0]], CLUSTER_NAME if given[0] == "cluster" else getattr(acl, given[0])


def _check_once(source: SeedSource, field: str, names: Iterable[Hashable], what: str) -> None:
    seen: set[Hashable] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise source.error((field, index), f"{what} {name} stands twice")
        seen.add(name)


def _check_transaction(source: SeedSource, index: int, partitions: Mapping[str, int], timeout_ms_max: int) -> None:
    txn, path = source.seed.transactions[index], ("transactions", index)
    before = source.seed.transactions[:index]
    if any(each.transactional_id == txn.transactional_id and each.outcome == "open" for each in before):
        raise source.error(path, f"the transaction of {txn.transactional_id} before this one was left open")
    if not txn.records and not txn.offsets:
        raise source.error(path, "a transaction needs a record or an offset")
    if txn.timeout_ms > timeout_ms_max:
        what = f"{txn.timeout_ms} is more than transaction.max.timeout.ms of the broker, {timeout_ms_max}"
        raise source.error((*path, "timeout_ms"), what)
    for number, record in enumerate(txn.records):
        _check_topic(source, (*path, "records", number, "topic"), record.topic, partitions)
    for number, offset in enumerate(txn.offsets):
        _check_partition(source, (*path, "offsets", number), offset.topic, offset.partition, partitions)


def _check_groups(source: SeedSource, partitions: Mapping[str, int]) -> None:
    for index, group in enumerate(source.seed.groups):
        seen = set()
        for number, offset in enumerate(group.offsets):
            path = ("groups", index, "offsets", number)
            _check_partition(source, path, offset.topic, offset.partition, partitions)
            if (offset.topic, offset.partition) in seen:
                raise source.error(path, f"partition {offset.partition} of {offset.topic} stands twice")
            seen.add((offset.topic, offset.partition))


def _check_partition(source: SeedSource, path: Path, topic: str, partition: int, partitions: Mapping[str, int]) -> None:
    _check_topic(source, (*path, "topic"), topic, partitions)
    if partition >= partitions[topic]:
        count = partitions[topic]
        raise source.error((*path, "partition"), f"the topic {topic} has {count}, from 0 to {count - 1}")


def _check_topic(source: SeedSource, path: Path, topic: str, known: Collection[str]) -> None:
    if topic not in known:
        raise source.error(path, f"there is no topic {topic}{did_you_mean(topic, known)}")

"""The flags of `barnabas acls` as entries and filters: Kafka's AclCommand in its words. Pure.

`Wish` holds the flags. Their combined meaning, such as the rights of a producer or a consumer, is decided here,
independent of the parsing of flags and of the connection to a broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from barnabas.broker.security.acl.acl import ANY, WILDCARD, PatternType, Permission
from barnabas.broker.security.session.operations import CLUSTER_NAME, SUPPORTED, Operation, Resource, camel_case
from barnabas.client.admin.acls import AclBinding, AclBindingFilter

RESOURCE_OPTIONS: Final[Mapping[Resource, str]] = {
    Resource.TOPIC: "topic",
    Resource.GROUP: "group",
    Resource.TRANSACTIONAL_ID: "transactional-id",
    Resource.DELEGATION_TOKEN: "delegation-token",
    Resource.USER: "user-principal",
}
"""The options that name resources. The cluster has no name."""
PATTERN_TYPES: Final[Mapping[str, int]] = {
    "literal": PatternType.LITERAL,
    "prefixed": PatternType.PREFIXED,
    "match": PatternType.MATCH,
    "any": ANY,
}
_PRODUCER: Final = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
_PRODUCER_OF_TRANSACTIONS: Final = (Operation.WRITE, Operation.DESCRIBE)
_CONSUMER: Final = (Operation.READ, Operation.DESCRIBE)
_CONSUMERS_GROUP: Final = (Operation.READ,)

Named = tuple[Resource, str]
"""A resource, or a prefix of names."""


class WishError(ValueError):
    """A wrong combination of flags. str() is a sentence."""


class Wish(NamedTuple):
    """The values of the flags; `names` are the resources without the cluster."""

    names: tuple[Named, ...] = ()
    has_cluster: bool = False
    pattern_type: int = PatternType.LITERAL
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    deny_hosts: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    is_producer: bool = False
    is_idempotent: bool = False
    is_consumer: bool = False

    @property
    def has_role(self) -> bool:
        """Whether the operations are those of a producer or a consumer."""
        return self.is_producer or self.is_consumer


def operation_word(operation: int) -> str:
    """Return TWO_PHASE_COMMIT as AclCommand writes it: TwoPhaseCommit. The number, if only a newer Kafka knows it."""
    return camel_case(Operation(operation).name) if operation in set(Operation) else str(operation)


def resource_word(kind: int) -> str:
    """Return the name of the option for a kind of resource. The number, if only a newer Kafka knows it."""
    if kind == Resource.CLUSTER:
        return "cluster"
    return RESOURCE_OPTIONS[Resource(kind)] if kind in set(Resource) else str(kind)


def entries(wish: Wish) -> list[AclBinding]:
    """Return the entries to add. WishError."""
    if not (wish.allowed or wish.denied):
        raise WishError("no principal: give --allow-principal or --deny-principal")
    _check_cluster(wish)
    return list(dict.fromkeys(_entries(wish)))


def filters(wish: Wish) -> list[AclBindingFilter]:
    """Return filters for the entries to remove: these entries, or all of the resources if no principal is given.

    Raises WishError.
    """
    if wish.allowed or wish.denied:
        return [AclBindingFilter(*entry) for entry in dict.fromkeys(_entries(wish))]
    if wish.operations or wish.has_role:
        raise WishError("no principal: give --allow-principal or --deny-principal, or no operation to remove all")
    _check(wish)
    return [AclBindingFilter(resource, name, pattern) for resource, name, pattern in _resources(wish)]


def looked_for(wish: Wish, principals: Sequence[str]) -> list[AclBindingFilter]:
    """Return filters for the entries to list: of all resources and all principals if none is named. WishError."""
    _check_cluster(wish)
    if wish.pattern_type == PatternType.PREFIXED and not wish.names:
        raise WishError("--resource-pattern-type prefixed needs a name: give --topic, --group or another")
    resources = [AclBindingFilter(*resource) for resource in _resources(wish)] or [AclBindingFilter()]
    return [each._replace(principal=who) for each, who in product(resources, principals or (None,))]


def shown(entry: AclBinding) -> dict[str, str]:
    """Return an entry in the words that add it."""
    patterns = {number: word for word, number in PATTERN_TYPES.items()}
    permissions: dict[int, str] = {each: each.name.lower() for each in Permission}
    return {
        "resource": resource_word(entry.resource_type),
        "name": entry.resource_name,
        "pattern": patterns.get(entry.pattern_type, str(entry.pattern_type)),
        "principal": entry.principal,
        "host": entry.host,
        "operation": operation_word(entry.operation),
        "permission": permissions.get(entry.permission_type, str(entry.permission_type)),
    }


def _entries(wish: Wish) -> Iterator[AclBinding]:
    _check(wish)
    allowed = product([Permission.ALLOW], wish.allowed, wish.allow_hosts or [WILDCARD])
    denied = product([Permission.DENY], wish.denied, wish.deny_hosts or [WILDCARD])
    whose = [*allowed, *denied]
    for (resource, name, pattern), operations in _wished(wish):
        _check_operations(resource, operations)
        for operation, (permission, principal, host) in product(operations, whose):
            yield AclBinding(resource, name, pattern, principal, host, operation, permission)


def _wished(wish: Wish) -> Iterator[tuple[tuple[Resource, str, int], tuple[Operation, ...]]]:
    """Yield resources and operations: the ones that were named, or those of the roles."""
    for resource in _resources(wish):
        if not wish.has_role:
            yield resource, wish.operations or (Operation.ALL,)
        if wish.is_producer and resource[0] == Resource.TOPIC:
            yield resource, _PRODUCER
        if wish.is_producer and resource[0] == Resource.TRANSACTIONAL_ID:
            yield resource, _PRODUCER_OF_TRANSACTIONS
        if wish.is_consumer and resource[0] == Resource.TOPIC:
            yield resource, _CONSUMER
        if wish.is_consumer and resource[0] == Resource.GROUP:
            yield resource, _CONSUMERS_GROUP
    if wish.is_idempotent:
        yield (Resource.CLUSTER, CLUSTER_NAME, PatternType.LITERAL), (Operation.IDEMPOTENT_WRITE,)


def _resources(wish: Wish) -> Iterator[tuple[Resource, str, int]]:
    for resource, name in wish.names:
        yield resource, name, wish.pattern_type
    if wish.has_cluster:
        yield Resource.CLUSTER, CLUSTER_NAME, wish.pattern_type


def _check(wish: Wish) -> None:
    """Check which flags go together. WishError."""
    if not (wish.names or wish.has_cluster):
        options = ", ".join(f"--{option}" for option in RESOURCE_OPTIONS.values())
        raise WishError(f"no resource: give one of {options}, --cluster")
    if wish.allow_hosts and not wish.allowed:
        raise WishError("--allow-host needs --allow-principal")
    if wish.deny_hosts and not wish.denied:
        raise WishError("--deny-host needs --deny-principal")
    if wish.is_idempotent and not wish.is_producer:
        raise WishError("--idempotent needs --producer")
    if wish.has_role:
        _check_role(wish)


def _check_cluster(wish: Wish) -> None:
    """Refuse a prefix for --cluster, but not in removals: an entry of another tool may have one, and is in force."""
    if wish.has_cluster and wish.pattern_type == PatternType.PREFIXED:
        raise WishError("--cluster has no name, so --resource-pattern-type prefixed does not apply")


def _check_operations(resource: Resource, operations: Sequence[Operation]) -> None:
    known = (*SUPPORTED[resource], Operation.ALL)
    for operation in operations:
        if operation not in known:
            wrong, right = operation_word(operation), ", ".join(map(operation_word, known))
            raise WishError(f"--{resource_word(resource)} has no operation {wrong}, but {right}")


def _check_role(wish: Wish) -> None:
    kinds = {resource for resource, _ in wish.names} | ({Resource.CLUSTER} if wish.has_cluster else set())
    if wish.operations or wish.denied:
        raise WishError("--producer and --consumer need --allow-principal, and exclude --operation")
    usual = {Resource.TOPIC}
    usual |= {Resource.TRANSACTIONAL_ID} if wish.is_producer else set()
    usual |= {Resource.GROUP} if wish.is_consumer else set()
    for kind in sorted(kinds - usual):
        role = " and ".join(
            word for word, is_it in (("--producer", wish.is_producer), ("--consumer", wish.is_consumer)) if is_it
        )
        raise WishError(f"{role} has no rights on --{resource_word(kind)}")
    if Resource.TOPIC not in kinds:
        raise WishError(f"{'--producer' if wish.is_producer else '--consumer'} needs --topic")
    if wish.is_consumer and Resource.GROUP not in kinds:
        raise WishError("--consumer needs --group")

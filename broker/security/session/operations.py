"""Operations on resources: Kafka's AclOperation and ResourceType, with their numbers on the wire.

A response has the operations that its client is allowed as a set of bits, bit n for operation n. Without an authorizer
these are all that the kind of resource has. ALL is for access control lists: it stands for every operation.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Operation(IntEnum):
    """An AclOperation."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Resource(IntEnum):
    """A ResourceType."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


CLUSTER_NAME = "kafka-cluster"
"""The one resource of the kind CLUSTER."""


def camel_case(name: str) -> str:
    """Return the name of an operation or a kind of resource as Kafka's tools write it: TwoPhaseCommit."""
    return name.title().replace("_", "")


class Access(NamedTuple):
    """An operation on resources of a kind."""

    operation: Operation
    resource: Resource

    def __str__(self) -> str:
        return " ".join(camel_case(each.name) for each in self)


_O = Operation
SUPPORTED: dict[Resource, tuple[Operation, ...]] = {
    Resource.TOPIC: (
        *(_O.READ, _O.WRITE, _O.CREATE, _O.DELETE, _O.ALTER, _O.DESCRIBE),
        *(_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    ),
    Resource.GROUP: (_O.READ, _O.DELETE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    Resource.CLUSTER: (
        *(_O.CREATE, _O.ALTER, _O.DESCRIBE, _O.CLUSTER_ACTION),
        *(_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.IDEMPOTENT_WRITE),
    ),
    Resource.TRANSACTIONAL_ID: (_O.WRITE, _O.DESCRIBE, _O.TWO_PHASE_COMMIT),
    Resource.DELEGATION_TOKEN: (_O.DESCRIBE,),
    Resource.USER: (_O.CREATE_TOKENS, _O.DESCRIBE_TOKENS),
}
"""The operations that a kind of resource has: AclEntry.supportedOperations."""


def allowed_operations(resource: Resource) -> int:
    """Return the bits of all operations on a resource of this kind, allowed without an authorizer."""
    return sum(1 << operation for operation in SUPPORTED[resource])

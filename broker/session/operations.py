"""What may be done to what: Kafka's AclOperation and ResourceType, with their numbers on the wire.

An answer says which operations its asker is allowed as a set of bits, bit n for operation n. Without an authorizer
these are all that the kind of resource knows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Operation(IntEnum):
    """An AclOperation."""

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
    TWO_PHASE_COMMIT = 15


class Resource(IntEnum):
    """A ResourceType."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class Access(NamedTuple):
    """An operation on resources of a kind."""

    operation: Operation
    resource: Resource

    def __str__(self) -> str:
        return " ".join(each.name.title().replace("_", "") for each in self)


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
}
"""The operations that a kind of resource knows: AclEntry.supportedOperations."""


def allowed_operations(resource: Resource) -> int:
    """The bits of what anybody may do to a resource of this kind."""
    return sum(1 << operation for operation in SUPPORTED[resource])

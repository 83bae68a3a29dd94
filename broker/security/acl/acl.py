"""One access control list entry (Kafka's AclBinding), and the filters by which entries are found.

All values are as in requests and records: numbers of Kafka's enumerations, principals as `User:name`. A wildcard
resource is the literal pattern `*`, every user `User:*`.
"""

from __future__ import annotations

from enum import IntEnum
from operator import attrgetter
from typing import Any, Final, NamedTuple

from barnabas.broker.security.acl.hosts import is_within
from barnabas.broker.security.session.operations import Operation, Resource

WILDCARD: Final = "*"
EVERY_USER: Final = "User:*"
ANY: Final = 1
"""In a filter: any value, of resource types, pattern types, operations and permissions alike."""


class PatternType(IntEnum):
    """How the name of an entry's resource is read. MATCH is for filters: every pattern that matches the name."""

    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """An AclPermissionType."""

    DENY = 2
    ALLOW = 3


KNOWN_RESOURCES: Final = frozenset(Resource)
KNOWN_OPERATIONS: Final = frozenset(Operation)
KNOWN_PERMISSIONS: Final = frozenset(Permission)

_IMPLIED: Final = {
    Operation.DESCRIBE: frozenset((Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)),
    Operation.DESCRIBE_CONFIGS: frozenset((Operation.ALTER_CONFIGS,)),
}
"""Permission for one of these implies permission for the operation before them. Denying implies nothing."""
_NONE: Final[frozenset[Operation]] = frozenset()

_NAMES: Final = (
    "resource_type",
    "resource_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)
"""The names of an entry's fields in requests and records, in its order."""
_fields_of: Final = attrgetter(*_NAMES)


class Acl(NamedTuple):
    """An entry: a permission of a principal on a resource."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    @classmethod
    def of(cls, source: object) -> Acl:
        """Return the entry in a record."""
        return cls._make(_fields_of(source))

    def named(self) -> dict[str, Any]:
        """Return its fields by their names in requests and records."""
        return dict(zip(_NAMES, self, strict=True))

    def applies(self, operation: Operation, host: str) -> bool:
        """Return whether it decides on this operation from this host, if resource and principal match."""
        if not is_within(host, self.host):
            return False
        if self.operation in (operation, Operation.ALL):
            return True
        return self.permission == Permission.ALLOW and self.operation in _IMPLIED.get(operation, _NONE)

    def covers(self, name: str) -> bool:
        """Return whether it is about the resource of this name."""
        if self.pattern_type == PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (name, WILDCARD)


class AclFilter(NamedTuple):
    """A filter of entries (Kafka's AclBindingFilter). ANY and None match everything."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def matches(self, acl: Acl) -> bool:
        """Return whether the entry matches the filter."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        name = self.resource_name
        if self.pattern_type not in (ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if name is None:
            return True
        return acl.covers(name) if self.pattern_type == PatternType.MATCH else name == acl.resource_name

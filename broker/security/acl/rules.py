"""The reason why something is allowed or denied: the deciding rule, in the words of Kafka's audit log."""

from __future__ import annotations

from typing import Final, NamedTuple

from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.session.operations import Operation, Resource


class Rule(NamedTuple):
    """The deciding rule."""

    is_allowed: bool
    name: str
    acl: Acl | None = None

    def __str__(self) -> str:
        return self.name if self.acl is None else f"{self.name}(acl={acl_text(self.acl)})"


SUPER_USER: Final = Rule(True, "SuperUser")
DEFAULT_ALLOW: Final = Rule(True, "DefaultAllow")
DEFAULT_DENY: Final = Rule(False, "DefaultDeny")


def rule_of(acl: Acl) -> Rule:
    """Return the rule of an entry."""
    return Rule(acl.permission == Permission.ALLOW, "MatchingAcl", acl)


def acl_text(acl: Acl) -> str:
    """Return the text of an entry in Kafka's form (StandardAcl)."""
    return (
        f"StandardAcl(resourceType={_name(Resource, acl.resource_type)}, resourceName={acl.resource_name}, "
        f"patternType={_name(PatternType, acl.pattern_type)}, principal={acl.principal}, host={acl.host}, "
        f"operation={_name(Operation, acl.operation)}, permissionType={_name(Permission, acl.permission)})"
    )


def _name(kind: type[Operation] | type[Resource] | type[PatternType] | type[Permission], number: int) -> str:
    """Return its name; UNKNOWN for a number of a newer Kafka."""
    return kind(number).name if number in set(kind) else "UNKNOWN"

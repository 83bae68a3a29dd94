"""Filters for ACLs as they are in requests: which are invalid, and which could match an ACL of a later version."""

from __future__ import annotations

from typing import Final, Protocol

from barnabas.broker.runtime.refusals import NoSuchRequest
from barnabas.broker.security.acl.acl import ANY, KNOWN_OPERATIONS, KNOWN_RESOURCES, AclFilter, PatternType, Permission
from barnabas.protocol.errors import ErrorCode, KafkaError

UNKNOWN: Final = 0
"""In requests: the number by which Kafka's clients represent an element that they do not know."""


class RequestedFilter(Protocol):
    """A filter of DescribeAcls or DeleteAcls."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def requested_filter(requested: RequestedFilter) -> AclFilter:
    """Return the filter of a request. Raise NoSuchRequest if it has an element that its own client does not know."""
    kinds = (
        requested.resource_type_filter,
        requested.pattern_type_filter,
        requested.operation,
        requested.permission_type,
    )
    if UNKNOWN in kinds:
        raise NoSuchRequest("a filter for ACLs with unknown elements")
    return AclFilter(
        requested.resource_type_filter,
        requested.resource_name_filter,
        requested.pattern_type_filter,
        requested.principal_filter,
        requested.host_filter,
        requested.operation,
        requested.permission_type,
    )


def why_no_filter(requested: AclFilter) -> KafkaError | None:
    """Return why ACLs cannot be deleted by this filter, whichever ACLs exist; None if they can."""
    if requested.resource_type not in (ANY, *KNOWN_RESOURCES) or requested.pattern_type not in (ANY, *PatternType):
        return KafkaError(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")
    if requested.operation not in (ANY, *KNOWN_OPERATIONS) or requested.permission not in (ANY, *Permission):
        return KafkaError(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
    return None

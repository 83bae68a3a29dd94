"""Administration of access control lists: finding, adding and removing entries. One function per operation.

Entries have the values of requests: numbers of Kafka's enumerations, principals as `User:name`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.client.admin.admin_requests import request_controller
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest

ANY = 1
"""In a filter: any value, for resource types, pattern types, operations and permissions."""


class AclBinding(NamedTuple):
    """An ACL entry: a permission or denial of an operation on a resource for a principal."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class AclBindingFilter(NamedTuple):
    """A filter of ACL entries. ANY and None match everything."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission_type: int = ANY


def describe_acls(client: Client, wanted: AclBindingFilter) -> list[AclBinding]:
    """Return the entries that match the filter, sorted. KafkaError."""
    request = DescribeAclsRequest(
        resource_type_filter=wanted.resource_type,
        resource_name_filter=wanted.resource_name,
        pattern_type_filter=wanted.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )

    def attempt(connection: BrokerConnection, deadline: Deadline) -> list[AclBinding]:
        answer = connection.ask(request, deadline)
        raise_for(answer.error_code, answer.error_message, "acls")
        return sorted(
            AclBinding(
                resource.resource_type,
                resource.resource_name,
                resource.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for resource in answer.resources
            for acl in resource.acls
        )

    return request_controller(client, attempt)


def create_acls(client: Client, bindings: Sequence[AclBinding]) -> None:
    """Add entries; existing ones stay. KafkaError for the first refused one; the others are added."""
    request = CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=each.resource_type,
                resource_name=each.resource_name,
                resource_pattern_type=each.pattern_type,
                principal=each.principal,
                host=each.host,
                operation=each.operation,
                permission_type=each.permission_type,
            )
            for each in bindings
        ]
    )

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        for binding, result in zip(bindings, connection.ask(request, deadline).results, strict=False):
            raise_for(result.error_code, result.error_message, f"{binding.principal} on {binding.resource_name!r}")

    request_controller(client, attempt)


def delete_acls(client: Client, filters: Iterable[AclBindingFilter]) -> list[AclBinding]:
    """Remove the entries that match one of the filters; return them, sorted. KafkaError.

    If a response was lost and the request was retried, entries removed before are not included.
    """
    request = DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=each.resource_type,
                resource_name_filter=each.resource_name,
                pattern_type_filter=each.pattern_type,
                principal_filter=each.principal,
                host_filter=each.host,
                operation=each.operation,
                permission_type=each.permission_type,
            )
            for each in filters
        ]
    )

    def attempt(connection: BrokerConnection, deadline: Deadline) -> list[AclBinding]:
        removed = set()
        for result in connection.ask(request, deadline).filter_results:
            raise_for(result.error_code, result.error_message, "acls")
            for acl in result.matching_acls:
                raise_for(acl.error_code, acl.error_message, f"{acl.principal} on {acl.resource_name!r}")
                removed.add(
                    AclBinding(
                        acl.resource_type,
                        acl.resource_name,
                        acl.pattern_type,
                        acl.principal,
                        acl.host,
                        acl.operation,
                        acl.permission_type,
                    )
                )
        return sorted(removed)

    return request_controller(client, attempt)

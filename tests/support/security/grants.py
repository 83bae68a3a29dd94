"""Rights on names and on prefixes, granted and revoked over a connection of a super user."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from tests.support.probes.wire import Wire
from tests.support.waiting import until

_LITERAL, _PREFIXED = 3, 4
_ALLOW = 3
_VERSION = 3


class Grant(NamedTuple):
    """An operation on a topic, a group or a transactional id of this name; `name*`: on all that begin so."""

    operation: str
    resource: str
    name: str

    def creation(self, user: str) -> AclCreation:
        """The ACL that allows it to the user from everywhere."""
        return AclCreation(
            resource_type=Resource[self.resource],
            resource_name=self.name.removesuffix("*"),
            resource_pattern_type=self._pattern_type,
            principal=f"User:{user}",
            host="*",
            operation=Operation[self.operation],
            permission_type=_ALLOW,
        )

    def filter(self, user: str) -> dict[str, Any]:
        """The fields that find that ACL and no other."""
        return {
            "resource_type_filter": Resource[self.resource],
            "resource_name_filter": self.name.removesuffix("*"),
            "pattern_type_filter": self._pattern_type,
            "principal_filter": f"User:{user}",
            "host_filter": "*",
            "operation": Operation[self.operation],
            "permission_type": _ALLOW,
        }

    @property
    def _pattern_type(self) -> int:
        return _PREFIXED if self.name.endswith("*") else _LITERAL


def sink_rights(prefix: str, topic: str) -> tuple[Grant, ...]:
    """All that the exactly-once sink needs to write to a topic that is there: docs/pipeline.md."""
    ledger = f"__{prefix}.ledger"
    return (
        Grant("WRITE", "TOPIC", topic),
        *(Grant(each, "TOPIC", ledger) for each in ("CREATE", "READ", "WRITE", "DESCRIBE_CONFIGS")),
        Grant("WRITE", "TRANSACTIONAL_ID", f"{prefix}*"),
        Grant("READ", "GROUP", prefix),
    )


class Grants:
    """The rights of one user at the server that listens at `port`."""

    def __init__(self, port: int, user: str) -> None:
        self._port = port
        self._user = user

    def give(self, granted: Iterable[Grant]) -> None:
        """Add these; returns when the broker has them."""
        with Wire(self._port) as wire:
            request = CreateAclsRequest(creations=[each.creation(self._user) for each in granted])
            answer = wire.ask(request, _VERSION)
            assert not any(each.error_code for each in answer.results), answer
            until(lambda: all(self._has(wire, each) for each in granted))

    def take(self, granted: Iterable[Grant]) -> None:
        """Take these back; returns when the broker has them no more."""
        with Wire(self._port) as wire:
            request = DeleteAclsRequest(filters=[DeleteAclsFilter(**each.filter(self._user)) for each in granted])
            answer = wire.ask(request, _VERSION)
            assert [len(each.matching_acls) for each in answer.filter_results] == [1 for _ in granted], answer
            until(lambda: not any(self._has(wire, each) for each in granted))

    def _has(self, wire: Wire, grant: Grant) -> bool:
        return bool(wire.ask(DescribeAclsRequest(**grant.filter(self._user)), _VERSION).resources)

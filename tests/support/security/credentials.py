"""What a secured server keeps in its catalogue, made over a connection of a super user: users of SCRAM, and ACLs."""

from collections.abc import Iterable, Mapping

from barnabas.broker.security.session.operations import Access, Resource
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from tests.support.probes.wire import Wire
from tests.support.security.exchanges import salted_password
from tests.support.waiting import until

_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_SALT, _ITERATIONS = b"salt", 4096
_ALLOW, _LITERAL, _ANY = 3, 3, 1
_CLUSTER = "kafka-cluster"


def make_scram_user(wire: Wire, user: str) -> None:
    """Give the user the password of PLAIN also by both kinds of SCRAM, under the salt `salt` and 4096 iterations."""
    for number, mechanism in _MECHANISMS.items():  # a user may be named but once in a request
        credential = ScramCredentialUpsertion(
            name=user,
            mechanism=number,
            iterations=_ITERATIONS,
            salt=_SALT,
            salted_password=salted_password(mechanism, user, _SALT, _ITERATIONS),
        )
        answer = wire.ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[credential]), 0)
        assert answer.results[0].error_code == 0, answer
    asked = DescribeUserScramCredentialsRequest(users=[UserName(name=user)])
    until(lambda: len(wire.ask(asked, 0).results[0].credential_infos) == len(_MECHANISMS))


def allow(wire: Wire, granted: Mapping[str, Iterable[Access]]) -> None:
    """Give each user its rights, on every topic, group and transactional id; there are no other ACLs."""
    creations = [_acl(user, access) for user, accesses in granted.items() for access in accesses]
    answer = wire.ask(CreateAclsRequest(creations=creations), 3)
    assert not any(each.error_code for each in answer.results), answer
    asked = DescribeAclsRequest(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    until(lambda: sum(len(each.acls) for each in wire.ask(asked, 3).resources) == len(creations))


def _acl(user: str, access: Access) -> AclCreation:
    return AclCreation(
        resource_type=access.resource,
        resource_name=_CLUSTER if access.resource is Resource.CLUSTER else "*",
        resource_pattern_type=_LITERAL,
        principal=f"User:{user}",
        host="*",
        operation=access.operation,
        permission_type=_ALLOW,
    )

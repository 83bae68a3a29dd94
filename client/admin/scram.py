"""Administration of SCRAM credentials: listing, setting and removing them. One function per operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.admin.admin_requests import request_controller
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import raise_for
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from barnabas.protocol.security.scram import MECHANISMS, ScramMechanism, salted

BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}
_BY_NUMBER = {mechanism.number: mechanism for mechanism in MECHANISMS}


class NewPassword(NamedTuple):
    """The input of a new credential."""

    iterations: int
    password: str
    salt: bytes


def describe_credentials(client: Client, users: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
    """Return the iterations by mechanism, by user: of these users, or of all. Users without any are left out."""
    wanted = None if users is None else [UserName(name=name) for name in users]

    def attempt(connection: BrokerConnection, deadline: Deadline) -> dict[str, dict[str, int]]:
        answer = connection.ask(DescribeUserScramCredentialsRequest(users=wanted), deadline)
        raise_for(answer.error_code, answer.error_message, "credentials")
        found = {}
        for result in answer.results:
            if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
                continue
            raise_for(result.error_code, result.error_message, f"user {result.user!r}")
            infos = ((_BY_NUMBER[info.mechanism].name, info.iterations) for info in result.credential_infos)
            found[result.user] = dict(infos)
        return found

    return request_controller(client, attempt)


def alter_credentials(
    client: Client, user: str, passwords: Mapping[ScramMechanism, NewPassword], removed: Iterable[ScramMechanism] = ()
) -> None:
    """Set passwords of a user for mechanisms, and remove those of others. The passwords themselves are not sent."""
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name=user, mechanism=mechanism.number) for mechanism in removed],
        upsertions=[_upsertion(user, mechanism, new) for mechanism, new in passwords.items()],
    )

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        for result in connection.ask(request, deadline).results:
            raise_for(result.error_code, result.error_message, f"user {result.user!r}")

    request_controller(client, attempt)


def _upsertion(user: str, mechanism: ScramMechanism, new: NewPassword) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism.number,
        iterations=new.iterations,
        salt=new.salt,
        salted_password=salted(mechanism, new.password, new.salt, new.iterations),
    )

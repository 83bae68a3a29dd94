"""What the users of a secured broker may do from its first start on: Kafka's ACLs, written to the catalogue once.

`admin` is a super user, which needs no ACL. `client` has the rights of an application. The security directory notes
which data directories they were written to, so that a right that somebody removed does not come back with a start, and
new data beside an old security directory begin with all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.security.acl.acl import WILDCARD, Acl, PatternType, Permission
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.broker.server.secure.directory import Security, read, write

if TYPE_CHECKING:
    from barnabas.broker.metadata.access.acls import Acls

SUPER_USER = "User:admin"
GRANTED = "granted"
"""The file with the ids of the data directories that have the rights."""
_CLIENT = "User:client"
_O = Operation
_OF_AN_APPLICATION = {
    (Resource.TOPIC, WILDCARD): (_O.READ, _O.WRITE, _O.CREATE, _O.DELETE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS),
    (Resource.GROUP, WILDCARD): (_O.READ, _O.DESCRIBE, _O.DELETE),
    (Resource.TRANSACTIONAL_ID, WILDCARD): (_O.WRITE, _O.DESCRIBE),
    (Resource.CLUSTER, CLUSTER_NAME): (_O.IDEMPOTENT_WRITE,),
}
"""One entry for each operation, so that each can be removed by itself."""


def rights_of_client() -> list[Acl]:
    """The entries of the user `client`."""
    return [
        Acl(resource, name, PatternType.LITERAL, _CLIENT, WILDCARD, operation, Permission.ALLOW)
        for (resource, name), operations in _OF_AN_APPLICATION.items()
        for operation in operations
    ]


def grant_once(security: Security, directory_id: bytes, acls: Acls) -> None:
    """Give `client` its rights in the data directory of this id, unless it was given them before. KafkaError, OSError.

    A start that is killed in between gives them again.
    """
    granted = (read(security.path, GRANTED) or "").split()
    if directory_id.hex() in granted:
        return
    acls.create(rights_of_client())
    write(security.path, GRANTED, "".join(f"{each}\n" for each in [*granted, directory_id.hex()]))


def grant(rights: Sequence[Acl], acls: Acls) -> None:
    """Give further rights; those that are there stay. KafkaError."""
    if rights:
        for refusal in acls.create(list(rights)):
            if refusal is not None:
                raise refusal

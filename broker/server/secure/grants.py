"""The rights of a secured broker's users from its first start on: Kafka's ACLs, written to the catalogue once.

`admin` is a super user, which needs no ACL. `client` has the rights of an application. The security directory records
to which data directories they were written, so that a right that an operator removed does not return at a start, and
new data beside an old security directory starts with all of them.
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
    """Return the ACLs of the user `client`."""
    return [
        Acl(resource, name, PatternType.LITERAL, _CLIENT, WILDCARD, operation, Permission.ALLOW)
        for (resource, name), operations in _OF_AN_APPLICATION.items()
        for operation in operations
    ]


def grant_once(security: Security, directory_id: bytes, acls: Acls) -> None:
    """Give `client` its rights in this data directory, unless they were given before. Raises KafkaError, OSError.

    After a start that was killed in between, the next one gives them again.
    """
    granted = (read(security.path, GRANTED) or "").split()
    if directory_id.hex() in granted:
        return
    acls.create(rights_of_client())
    write(security.path, GRANTED, "".join(f"{each}\n" for each in [*granted, directory_id.hex()]))


def grant(rights: Sequence[Acl], acls: Acls) -> None:
    """Add further ACLs; existing ones stay. Raises KafkaError."""
    if rights:
        for refusal in acls.create(list(rights)):
            if refusal is not None:
                raise refusal

"""Security: listeners with authentication, users, rights and quotas; the principals of connections; refused clients.

Names, mechanisms and numbers, and nothing that helps to guess a password. Invariant: each list has a maximum length,
and long lists are read in steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.why.rules.refused_clients import sentences
from barnabas.broker.insight.why.sources.refused_clients import ALL_CLIENTS, Client, refused_clients
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.http.served_node import ServedNode
    from barnabas.broker.security.acl.acl import PatternType, Permission
    from barnabas.broker.security.session.operations import Operation, Resource
    from barnabas.broker.services import Services

ROWS_MAX = 300
CASES_MAX = 20
_IN_A_STEP = 1_000


class AclSeen(NamedTuple):
    """One ACL, in words, in the order in which they are shown."""

    resource: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


class QuotaSeen(NamedTuple):
    """One quota."""

    whose: str
    key: str
    value: float


class UserSeen(NamedTuple):
    """A SCRAM user: its mechanisms with their iterations."""

    name: str
    credentials: list[tuple[str, int]]


def refused_lately(services: Services) -> list[str]:
    """Return the recent refusals of clients in sentences, each with what ends it."""
    return sentences(refused_clients(services, ALL_CLIENTS), shown_max=CASES_MAX)


def sasl_listeners(members: Sequence[ServedNode]) -> list[tuple[int, SaslListener]]:
    """Return the listeners with authentication, by node."""
    return [(member.node_id, each) for member in members for each in member.sasl_listeners.values()]


def connected(members: Sequence[ServedNode]) -> list[tuple[tuple[str, str, str], int]]:
    """Return the number of connections of each principal, by mechanism and listener."""
    found: Counter[tuple[str, str, str]] = Counter()
    for member in members:
        for connection in member.listener.connections:
            session = connection.session
            if session.named_principal is not None:
                found[session.named_principal, session.mechanism or "SSL", session.listener] += 1
    return found.most_common(ROWS_MAX)


def principals(members: Sequence[ServedNode]) -> Mapping[Client, list[str]]:
    """Return the principals of the authenticated clients, by client id and host."""
    found: defaultdict[Client, set[str]] = defaultdict(set)
    for member in members:
        for connection in member.listener.connections:
            principal = connection.session.named_principal
            if principal is not None:
                found[connection.client_id or "", connection.client_host].add(principal)
    return {client: sorted(names) for client, names in found.items()}


def muted_count(services: Services) -> int:
    """Return how many connections wait for the end of a throttle now."""
    in_force = (node.quotas.in_force for node in services.every_node)
    return sum(len(each.muting) for each in in_force if each is not None)


def users(services: Services) -> list[UserSeen]:
    """Return all SCRAM users."""
    iterations = services.catalogue.users.iterations()
    if not iterations:
        return []
    from barnabas.protocol.security.scram import MECHANISMS  # few brokers have users

    names = {each.number: each.name for each in MECHANISMS}
    return [
        UserSeen(user, [(names.get(number, "?"), count) for number, count in of_user.items()])
        for user, of_user in iterations.items()
    ]


def quotas(services: Services) -> list[QuotaSeen]:
    """Return all quotas of clients and addresses."""
    entities = services.catalogue.client_quotas.entities.items()
    every = (QuotaSeen(_whose(entity), key, value) for entity, values in entities for key, value in values.items())
    return sorted(every)


def _whose(entity: Iterable[tuple[str, str | None]]) -> str:
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in entity)


def acls(services: Services, needle: str) -> Steps[tuple[list[AclSeen], int]]:
    """Return, in steps, the first ACLs that contain the needle in a name or a principal, and how many there are."""
    if services.access is None:
        return [], 0
    from barnabas.broker.security.acl.acl import Acl, PatternType, Permission  # few brokers have an authorizer
    from barnabas.broker.security.session.operations import Operation, Resource

    def seen(acl: Acl) -> AclSeen:
        return AclSeen(
            _word(Resource, acl.resource_type),
            acl.resource_name,
            _word(PatternType, acl.pattern_type),
            acl.principal,
            acl.host,
            _word(Operation, acl.operation),
            _word(Permission, acl.permission),
        )

    found: list[AclSeen] = []
    count = 0
    for number, acl in enumerate(list(services.access.acls.all)):
        if needle in acl.resource_name or needle in acl.principal:
            count += 1
            found.append(seen(acl))
        if number % _IN_A_STEP == _IN_A_STEP - 1:
            found = nsmallest(ROWS_MAX, found)
            yield
    return nsmallest(ROWS_MAX, found), count


def _word(kind: type[Resource] | type[PatternType] | type[Operation] | type[Permission], number: int) -> str:
    """Format TRANSACTIONAL_ID as words; return the number if a newer Kafka wrote it."""
    return kind(number).name.lower().replace("_", " ") if number in set(kind) else str(number)

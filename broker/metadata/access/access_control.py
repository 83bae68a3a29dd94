"""Access control of a broker with an authorizer: the ACLs and the authorizer. Imported only if one is configured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from barnabas.broker.config.authorizer import super_users
from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.metadata.access.acls import Acls
from barnabas.broker.metadata.catalogue.catalogue import Catalogue
from barnabas.broker.runtime.events import Events
from barnabas.broker.runtime.events.kinds import ACCESS_DENIED
from barnabas.broker.security.acl.audit import AclAudit, Denial
from barnabas.broker.security.acl.authorizer import Authorizer
from barnabas.broker.security.acl.index import AclIndex
from barnabas.broker.security.session.operations import Resource
from barnabas.broker.security.session.principal import INTERNAL
from barnabas.protocol.registry import ApiKey

_NAMED_AS: Final = {
    Resource.TOPIC: "topic",
    Resource.GROUP: "group",
    Resource.TRANSACTIONAL_ID: "transactional_id",
}
"""The name of the fact that holds the resource's name, by resource type; `name` for the other types."""


class AccessControl(NamedTuple):
    """The authorizer of a broker, and the ACLs by which it decides."""

    acls: Acls
    authorizer: Authorizer


def access_of(
    config: BrokerConfig, catalogue: Catalogue, random_bytes: Callable[[int], bytes], events: Events
) -> AccessControl:
    """Return the access control that the configuration requires, with the ACLs of the catalogue.

    events: receives an event for each denied operation.
    """
    acls = Acls(catalogue, random_bytes)
    allows_if_no_acl = config.boolean("allow.everyone.if.no.acl.found")
    users = super_users(config.text("super.users")) | {str(INTERNAL)}
    authorizer = Authorizer(
        AclIndex(acls.all), users, AclAudit(partial(_report, events)), allows_if_no_acl=allows_if_no_acl
    )
    acls.subscribe(authorizer)
    return AccessControl(acls, authorizer)


def _report(events: Events, denial: Denial) -> None:
    which = {
        "principal": str(denial.principal),
        "host": denial.host,
        "client_id": denial.client_id,
        "api": ApiKey(denial.api_key).api_name,
        "operation": denial.operation.name,
        "resource": denial.resource.name,
        **dict.fromkeys((*_NAMED_AS.values(), "name")),
        _NAMED_AS.get(denial.resource, "name"): denial.name,
    }
    events.emit_repeated(ACCESS_DENIED, which, rule=str(denial.rule))

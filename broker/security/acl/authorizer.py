"""The authorizer: super users, entries, and the default where no entry is about the resource (StandardAuthorizer).

Decisions are cached by principal, host, operation and resource, and the cache is cleared whenever an entry is added or
removed. Every requested decision is logged by the audit, cached or not.

Invariants: no more than DECISIONS_MAX decisions are cached, and none with a name longer than NAME_KEPT_MAX; a cached
decision equals a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from barnabas.broker.security.acl.index import AclIndex
from barnabas.broker.security.acl.rules import DEFAULT_ALLOW, DEFAULT_DENY, SUPER_USER, Rule, rule_of
from barnabas.broker.security.session.operations import Operation, Resource

if TYPE_CHECKING:
    from barnabas.broker.security.acl.acl import Acl
    from barnabas.broker.security.acl.audit import AclAudit
    from barnabas.broker.security.session.principal import Principal

DECISIONS_MAX = 20_000
NAME_KEPT_MAX = 255
_SOME_NAME: Final = "hardcode"  # the name of any resource in Kafka's Authorizer.authorizeByResourceType
_Decisions = dict[tuple["Principal", str, str], Rule]  # by principal, host, and name of the resource


class Authorizer:
    """Decides for all nodes of a broker."""

    def __init__(
        self, index: AclIndex, super_users: Collection[str], audit: AclAudit, *, allows_if_no_acl: bool = False
    ) -> None:
        """Start with the entries of `index`, only changed by `changed` from now on. `super_users`: as `User:name`."""
        self.audit = audit
        self._index = index
        self._super_users = frozenset(super_users)
        self._without_acl = DEFAULT_ALLOW if allows_if_no_acl else DEFAULT_DENY
        self._kept: list[list[_Decisions]] = []
        self._kept_count = 0
        self._some: dict[tuple[Principal, str, Operation, Resource], bool] = {}
        self._forget()

    def _forget(self) -> None:
        self._kept = [[{} for _ in range(max(Resource) + 1)] for _ in range(max(Operation) + 1)]
        self._kept_count = 0
        self._some.clear()

    def changed(self, *, added: Iterable[Acl] = (), removed: Iterable[Acl] = ()) -> None:
        """Add and remove entries."""
        for acl in added:
            self._index.add(acl)
        for acl in removed:
            self._index.remove(acl)
        self._forget()

    def rule(self, principal: Principal, host: str, operation: Operation, resource: Resource, name: str) -> Rule:
        """Return the rule that decides whether the operation on the resource of this name is allowed."""
        kept = self._kept[operation][resource]
        rule = kept.get((principal, host, name))
        if rule is None:
            rule = self._decide(str(principal), host, operation, resource, name)
            if len(name) <= NAME_KEPT_MAX and len(principal.name) <= NAME_KEPT_MAX:
                if self._kept_count == DECISIONS_MAX:
                    self._forget()
                    kept = self._kept[operation][resource]
                kept[principal, host, name] = rule
                self._kept_count += 1
        return rule

    def is_known_to_allow(
        self, principal: Principal, host: str, operation: Operation, resource: Resource, name: str
    ) -> bool:
        """Return whether it is cached as allowed, and needs no log line: a short way for the most frequent case."""
        rule = self._kept[operation][resource].get((principal, host, name))
        if rule is None or not rule.is_allowed or self.audit.logs_allowed:
            return False
        self.audit.allowed_count += 1
        return True

    def _decide(self, principal: str, host: str, operation: Operation, resource: Resource, name: str) -> Rule:
        if principal in self._super_users:
            return SUPER_USER
        acl, is_named = self._index.find(principal, host, operation, resource, name)
        if acl is not None:
            return rule_of(acl)
        return DEFAULT_DENY if is_named else self._without_acl

    def allows_some(self, principal: Principal, host: str, operation: Operation, resource: Resource) -> bool:
        """Return whether the operation is allowed on at least one resource of this kind (KIP-679)."""
        key = principal, host, operation, resource
        allows = self._some.get(key)
        if allows is None:
            allows = self._index.allows_some(str(principal), host, operation, resource)
            if len(self._some) < DECISIONS_MAX and len(principal.name) <= NAME_KEPT_MAX:
                self._some[key] = allows
        return allows or self.rule(principal, host, operation, resource, _SOME_NAME).is_allowed

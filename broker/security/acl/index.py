"""The index of all entries by resource, so that a decision checks only those that may apply.

Entries are stored by the kind of resource, then by the pattern, then by the principal. A name is looked up as it is, as
`*`, and as each of its beginnings that is as long as some prefixed pattern.

Invariant: it holds each entry once, and nothing of one that was removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from barnabas.broker.security.acl.acl import EVERY_USER, WILDCARD, Acl, PatternType, Permission
from barnabas.broker.security.acl.hosts import is_within
from barnabas.broker.security.session.operations import Operation, Resource

_Entries = dict[str, dict[Acl, None]]  # of one pattern, by principal


class AclMatch(NamedTuple):
    """The result of a search: the deciding entry, None where no entry applies."""

    acl: Acl | None
    is_named: bool
    """Whether any entry is about the resource, for any principal."""


class AclIndex:
    """All entries."""

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self._of_kind: dict[int, _OfKind] = {}
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        """Add an entry, unless it is there."""
        of_kind = self._of_kind.get(acl.resource_type)
        if of_kind is None:
            of_kind = self._of_kind[acl.resource_type] = _OfKind()
        of_kind.add(acl)

    def remove(self, acl: Acl) -> None:
        """Remove an entry, if it is there."""
        of_kind = self._of_kind.get(acl.resource_type)
        if of_kind is not None:
            of_kind.remove(acl)

    def find(self, principal: str, host: str, operation: Operation, resource: Resource, name: str) -> AclMatch:
        """Return the deciding entry: one that denies before one that allows."""
        of_kind = self._of_kind.get(resource)
        return AclMatch(None, False) if of_kind is None else of_kind.find(principal, host, operation, name)

    def allows_some(self, principal: str, host: str, operation: Operation, resource: Resource) -> bool:
        """Return whether the operation is allowed on some name of this kind, as defined in KIP-679: some entry allows
        it, and none denies all that the entry allows. Operations that imply it do not count.
        """
        of_kind = self._of_kind.get(resource)
        return of_kind is not None and of_kind.allows_some(principal, host, operation)


class _OfKind:
    """The entries of one kind of resource."""

    def __init__(self) -> None:
        self._literal: dict[str, _Entries] = {}
        self._prefixed: dict[str, _Entries] = {}
        self._lengths: Counter[int] = Counter()  # of the prefixes
        self._by_principal: _Entries = {}

    def _patterns(self, acl: Acl) -> dict[str, _Entries]:
        return self._prefixed if acl.pattern_type == PatternType.PREFIXED else self._literal

    def add(self, acl: Acl) -> None:
        patterns, name = self._patterns(acl), acl.resource_name
        if name not in patterns:
            patterns[name] = {}
            if patterns is self._prefixed:
                self._lengths[len(name)] += 1
        for entries in (patterns[name], self._by_principal):
            entries.setdefault(acl.principal, {})[acl] = None

    def remove(self, acl: Acl) -> None:
        patterns, name = self._patterns(acl), acl.resource_name
        if acl not in self._by_principal.get(acl.principal, {}):
            return
        for entries in (patterns[name], self._by_principal):
            del entries[acl.principal][acl]
            if not entries[acl.principal]:
                del entries[acl.principal]
        if not patterns[name]:
            del patterns[name]
            if patterns is self._prefixed:
                self._lengths[len(name)] -= 1
                self._lengths += Counter()  # without zero counts

    def _about(self, name: str) -> Iterator[_Entries]:
        """Yield the entries of every pattern that matches the name."""
        for literal in (name,) if name == WILDCARD else (name, WILDCARD):
            if literal in self._literal:
                yield self._literal[literal]
        for length in self._lengths:
            if length <= len(name) and (prefix := name[:length]) in self._prefixed:
                yield self._prefixed[prefix]

    def find(self, principal: str, host: str, operation: Operation, name: str) -> AclMatch:
        allowing, is_named = None, False
        for entries in self._about(name):
            is_named = True
            for whom in (principal, EVERY_USER):
                for acl in entries.get(whom, ()):
                    if acl.applies(operation, host):
                        if acl.permission == Permission.DENY:
                            return AclMatch(acl, True)
                        allowing = acl
        return AclMatch(allowing, is_named)

    def allows_some(self, principal: str, host: str, operation: Operation) -> bool:
        allowed: list[Acl] = []
        denied_names: set[str] = set()
        denied_prefixes: set[str] = set()
        for whom in {principal, EVERY_USER}:
            for acl in self._by_principal.get(whom, ()):
                if acl.operation not in (operation, Operation.ALL) or not is_within(host, acl.host):
                    continue
                if acl.permission == Permission.ALLOW:
                    allowed.append(acl)
                elif acl.pattern_type == PatternType.PREFIXED:
                    denied_prefixes.add(acl.resource_name)
                else:
                    denied_names.add(acl.resource_name)
        if WILDCARD in denied_names:
            return False
        lengths = {len(prefix) for prefix in denied_prefixes}
        return any(
            _is_every_name(acl)
            or not (
                (acl.pattern_type == PatternType.LITERAL and acl.resource_name in denied_names)
                or any(acl.resource_name[:length] in denied_prefixes for length in lengths)
            )
            for acl in allowed
        )


def _is_every_name(acl: Acl) -> bool:
    return acl.pattern_type == PatternType.LITERAL and acl.resource_name == WILDCARD

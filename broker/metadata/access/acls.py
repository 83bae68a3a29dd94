"""The access control list entries, stored in the catalogue as in Kafka: one record each, under an id.

Read once from the records that the catalogue carries, when they are first needed: never without an authorizer. The
requests that are allowed are those that Kafka's AclControlManager and AclApis allow, with their error codes and
messages; the record types are Kafka's, too, so that the entries are in force in an Apache Kafka that opens the
directory.

Invariants: the entries here are those in the log; the listeners have been notified of every change before the change is
answered.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from barnabas.broker.metadata.catalogue.catalogue import Catalogue
from barnabas.broker.metadata.image.framing import Encoded, Versioned, decode_record, encoded
from barnabas.broker.metadata.image.image import METADATA_VERSION
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.acl.acl import (
    KNOWN_OPERATIONS,
    KNOWN_PERMISSIONS,
    KNOWN_RESOURCES,
    Acl,
    AclFilter,
    PatternType,
)
from barnabas.broker.security.acl.hosts import check_network
from barnabas.broker.security.session.operations import CLUSTER_NAME, Resource
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from barnabas.protocol.primitives import random_uuid
from barnabas.storage.steps import AT_ONCE, Pauses, Steps, decided, finish, mapped

_log = logger("catalogue")

ACLS_MAX: Final = 100_000
"""The maximum number of entries: some 60 MB. Kafka has no such limit."""
CHANGES_MAX: Final = 10_000
"""The maximum number of entries one request may add or remove (QuorumController.MAX_RECORDS_PER_USER_OP)."""
_NETWORKS_SINCE: Final = 32
"""The lowest metadata.version at which the host of an entry may be a network (4.4-IV1)."""
_TOO_MANY_CHANGES: Final = "Unable to perform excessively large batch operation."


class AclListener(Protocol):
    """A listener that is notified of changes: the authorizer."""

    def changed(self, *, added: Iterable[Acl] = (), removed: Iterable[Acl] = ()) -> None: ...


class Acls:
    """All entries, and the only way to change them."""

    def __init__(self, catalogue: Catalogue, random_bytes: Callable[[int], bytes]) -> None:
        self._catalogue = catalogue
        self._random_bytes = random_bytes
        self._listeners: list[AclListener] = []
        self._by_id: dict[bytes, Acl] = {}
        for value in catalogue.carried.of_kind("rule"):
            record = decode_record(value)
            assert isinstance(record, AccessControlEntryRecord)
            self._by_id[record.id] = Acl.of(record)
        self._there = Counter(self._by_id.values())
        self._changes = 0  # the number of changes so far
        self._unreported: deque[tuple[Sequence[Acl], Sequence[Acl]]] = deque()  # (added, removed), not yet reported

    def __len__(self) -> int:
        return len(self._by_id)

    def subscribe(self, listener: AclListener) -> None:
        """Report every change from now on to `listener`."""
        self._listeners.append(listener)

    @property
    def all(self) -> KeysView[Acl]:
        """All entries, in no order, as a view that follows later changes."""
        return self._there.keys()

    def create(self, acls: Sequence[Acl]) -> list[KafkaError | None]:
        """Add the valid entries in one batch; None for each that exists now. Raise KafkaError if none was added."""
        return finish(self.create_in_steps(acls))

    def create_in_steps(self, acls: Sequence[Acl]) -> Steps[list[KafkaError | None]]:
        """Do the same as `create` in steps; decide again if entries were added or removed by others meanwhile."""
        results, new, change = yield from decided(partial(self._decide_new, acls), self._count_changes)
        self._catalogue.commit(change)
        self._changes += 1
        self._by_id.update((acl_id, acl) for acl, acl_id in new.items())
        self._there.update(new.keys())
        yield from self._report("ACLs created", added=list(new))
        return results

    def find(self, wanted: AclFilter) -> Steps[list[Acl]]:
        """Return the entries that a filter matches. Raise KafkaError if it has an element that does not exist."""
        found = []
        for acl in list(self._by_id.values()):
            if wanted.matches(acl):
                found.append(acl)
            yield
        return found

    def delete(self, filters: Sequence[AclFilter]) -> Steps[list[list[Acl]]]:
        """Remove matching entries in one batch; return each filter's matches. Raise KafkaError if none is removed."""
        found: list[list[Acl]] = []
        gone: dict[bytes, Acl] = {}
        for wanted in filters:
            of_filter = []
            for acl_id, acl in list(self._by_id.items()):
                if wanted.matches(acl):
                    of_filter.append(acl)
                    gone[acl_id] = acl
                yield
            if len(gone) > CHANGES_MAX:
                raise KafkaError(
                    ErrorCode.POLICY_VIOLATION,
                    f"Cannot remove more than {CHANGES_MAX} acls in a single delete operation.",
                )
            found.append(of_filter)
        yield from self._remove(gone)
        return found

    def _remove(self, found: Mapping[bytes, Acl]) -> Steps[None]:
        gone, change = yield from decided(partial(self._decide_gone, found), self._count_changes)
        self._catalogue.commit(change)
        self._changes += 1
        for acl_id in gone:
            del self._by_id[acl_id]
        self._there.subtract(gone.values())
        for acl in gone.values():
            if not self._there[acl]:
                del self._there[acl]
        yield from self._report("ACLs deleted", removed=[acl for acl in gone.values() if acl not in self._there])

    def _count_changes(self) -> int:
        return self._changes

    def _decide_new(self, acls: Sequence[Acl]) -> Steps[tuple[list[KafkaError | None], dict[Acl, bytes], Encoded]]:
        """Return the refusal of each entry, or None, the entries to be added, and the records that add them."""
        level = self._catalogue.feature_level(METADATA_VERSION)
        results = yield from mapped(partial(why_not, level), acls)
        new = yield from self._new(acl for acl, why in zip(acls, results, strict=True) if why is None)
        return results, new, (yield from encoded((yield from mapped(_record, new.items()))))

    def _decide_gone(self, found: Mapping[bytes, Acl]) -> Steps[tuple[dict[bytes, Acl], Encoded]]:
        """Return the entries that no other request has removed, and the records that remove them."""
        gone = {acl_id: acl for acl_id, acl in found.items() if acl_id in self._by_id}
        return gone, (yield from encoded((yield from mapped(_removal, gone))))

    def _new(self, acls: Iterable[Acl]) -> Steps[dict[Acl, bytes]]:
        """Return the entries that do not exist yet, each once and with an id. Raise KafkaError if they are too many."""
        new: dict[Acl, bytes] = {}
        pauses = Pauses()
        for acl in acls:
            if acl not in self._there and acl not in new:
                new[acl] = self._new_id()
            if pauses.is_due():
                yield
        if len(new) > CHANGES_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, _TOO_MANY_CHANGES)
        if len(self._by_id) + len(new) > ACLS_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"There may be no more than {ACLS_MAX} ACLs.")
        return new

    def _new_id(self) -> bytes:
        while True:
            acl_id = random_uuid(self._random_bytes)
            if acl_id not in self._by_id:
                return acl_id

    def _report(self, event: str, *, added: Sequence[Acl] = (), removed: Sequence[Acl] = ()) -> Steps[None]:
        """Report a change to the listeners, some entries at a time as Kafka does; report earlier changes first."""
        if not (added or removed):
            return
        _log.info(line(event, acls=len(added) + len(removed), all=len(self._by_id)))
        for first in range(0, len(added) + len(removed), AT_ONCE):
            self._unreported.append((added[first : first + AT_ONCE], removed[first : first + AT_ONCE]))
        while self._unreported:
            came, went = self._unreported.popleft()
            for listener in self._listeners:
                listener.changed(added=came, removed=went)
            if self._unreported:
                yield


def _record(new: tuple[Acl, bytes]) -> Versioned:
    acl, acl_id = new
    return Versioned(AccessControlEntryRecord(id=acl_id, **acl.named()))


def _removal(acl_id: bytes) -> Versioned:
    return Versioned(RemoveAccessControlEntryRecord(id=acl_id))


def why_not(metadata_version: int, acl: Acl) -> KafkaError | None:
    """Return why this entry is invalid; None if it is valid."""
    if acl.resource_type == Resource.CLUSTER and acl.resource_name != CLUSTER_NAME:
        return _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        return _invalid("Invalid empty resource name")
    if acl.resource_type not in KNOWN_RESOURCES:
        return _invalid("Invalid resourceType ANY")
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return _invalid(f"Invalid patternType {'MATCH' if acl.pattern_type == PatternType.MATCH else 'ANY'}")
    if acl.operation not in KNOWN_OPERATIONS:
        return _invalid("Invalid operation ANY")
    if acl.permission not in KNOWN_PERMISSIONS:
        return _invalid("Invalid permissionType ANY")
    if ":" not in acl.principal:
        return _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the principal type "
            "from the principal name)"
        )
    return _why_not_from(acl.host, metadata_version)


def _why_not_from(host: str, metadata_version: int) -> KafkaError | None:
    if not host:
        return _invalid("Host pattern cannot be null or empty")
    if "/" in host:
        if metadata_version < _NETWORKS_SINCE:
            sentence = "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."
            return KafkaError(ErrorCode.UNSUPPORTED_VERSION, sentence)
        try:
            check_network(host)
        except ValueError as wrong:
            return _invalid(f"Invalid CIDR notation '{host}': {wrong}")
    return None


def _invalid(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, sentence)

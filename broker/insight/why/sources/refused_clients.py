"""The clients that were denied, throttled or not authenticated recently, for queries.

Events store them by case, with or without listeners (`Events.lately`). Denials are evaluated again: if a right was
added since, the denial is omitted. Invariant: no more cases are examined than events store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from barnabas.broker.insight.why.rules.refused_clients import (
    AclFacts,
    DenialFacts,
    RefusalFacts,
    RefusedClients,
    ThrottleFacts,
)
from barnabas.broker.runtime.events.kinds import (
    ACCESS_DENIED,
    CLIENT_THROTTLED,
    CONNECTION_NOT_AUTHENTICATED,
    CONNECTION_THROTTLED,
    HANDSHAKE_FAILED,
)
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.runtime.events.kind import EventKind
    from barnabas.broker.services import Services

CASES_MAX: Final = 20
"""Maximum number of each kind reported in one answer."""
LATELY_MS: Final = 600_000
"""Maximum age of a refusal in an answer."""
THROTTLED_LATELY_MS: Final = 60_000
"""Maximum age of a throttle, in addition to its duration."""

Facts = Mapping[str, Any]
IsMeant = Callable[[Facts], bool]
Client = tuple[str, str]
"""A client id, and its host."""


class Meant(NamedTuple):
    """The cases that a query is about."""

    denial: IsMeant
    client: IsMeant
    """By `client_id` and `host`."""
    maybe: IsMeant = lambda _: False
    """Clients that were not authenticated and may belong to the query: their purpose is not known yet."""
    subject: str | None = None
    """See `RefusedClients`."""


ALL_CLIENTS: Final = Meant(lambda _: True, lambda _: True)

_READS: Final = frozenset(
    each.api_name
    for each in (
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.LIST_OFFSETS,
        ApiKey.METADATA,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.TXN_OFFSET_COMMIT,
    )
)
"""Requests of consumers that name topics. Many client ids are the default of a library."""
_WRITES: Final = frozenset(
    each.api_name
    for each in (
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.METADATA,
        ApiKey.PRODUCE,
        ApiKey.TXN_OFFSET_COMMIT,
    )
)


def of_group(group_id: str, clients: Collection[Client], topic: str | None = None) -> Meant:
    """Select the refusals of a group whose members are these clients; of reads only those of `topic`, if given."""
    mine = partial(_is_of, clients)

    def is_denied(facts: Facts) -> bool:
        if facts["group"] is not None:
            return bool(facts["group"] == group_id)
        if facts["api"] not in _READS or (topic is not None and facts["topic"] not in (None, topic)):
            return False
        return mine(facts) or (topic is not None and facts["topic"] == topic)

    def is_mine(facts: Facts) -> bool:
        return facts.get("api") not in _ONLY_WRITES and mine(facts)

    return Meant(is_denied, is_mine, partial(_maybe, clients), "group")


def of_transactional_id(transactional_id: str, clients: Collection[Client]) -> Meant:
    """Select the refusals of the producers of an id, whose last clients were these."""
    mine = partial(_is_of, clients)

    def is_denied(facts: Facts) -> bool:
        if facts["transactional_id"] is not None:
            return bool(facts["transactional_id"] == transactional_id)
        return facts["api"] in _WRITES and mine(facts)

    def is_mine(facts: Facts) -> bool:
        return facts.get("api") not in _ONLY_READS and mine(facts)

    return Meant(is_denied, is_mine, partial(_maybe, clients), "transactional id")


_ONLY_READS, _ONLY_WRITES = _READS - _WRITES, _WRITES - _READS


def _is_of(clients: Collection[Client], facts: Facts) -> bool:
    return (facts["client_id"] or "", facts["host"]) in clients


def _maybe(clients: Collection[Client], facts: Facts) -> bool:
    """Return whether it may be one of these clients: one not authenticated has not always sent its client id."""
    return not clients or (facts["client_id"] is None and any(facts["host"] == host for _, host in clients))


def refused_clients(services: Services, meant: Meant) -> RefusedClients | None:
    """Return the refusals that match; None if there are none."""
    found = RefusedClients(
        f"{services.node.host}:{services.node.port}",
        meant.subject,
        tuple(_some(_denials(services, meant.denial))),
        tuple(_some(_throttles(services, meant.client))),
        tuple(_some(_refusals(services, meant))),
    )
    return None if found.is_empty else found


def _some(found: Iterator[Any]) -> Iterator[Any]:
    for _, each in zip(range(CASES_MAX), found, strict=False):
        yield each


def _lately(services: Services, kind: EventKind) -> Iterator[tuple[Facts, int, int]]:
    """Yield (facts, count, age in ms), the latest first."""
    now_s = services.events.stopwatch()
    for case in services.events.lately(kind):
        yield case.facts, case.count, max(0, int((now_s - case.last_s) * 1000))


def _denials(services: Services, is_meant: IsMeant) -> Iterator[DenialFacts]:
    if services.access is None:
        return
    from barnabas.broker.security.acl.acl import PatternType  # few brokers have an authorizer
    from barnabas.broker.security.acl.rights import REFUSALS

    for facts, count, ago_ms in _lately(services, ACCESS_DENIED):
        if ago_ms > LATELY_MS or not is_meant(facts):
            continue
        operation, resource, name = Operation[facts["operation"]], Resource[facts["resource"]], _name(facts)
        principal = Principal.of(facts["principal"])
        rule = services.access.authorizer.rule(principal, facts["host"], operation, resource, name)
        if rule.is_allowed:
            continue
        acl = rule.acl
        denies = None
        if acl is not None:
            pattern = acl.resource_name, PatternType(acl.pattern_type).name
            denies = AclFacts(acl.principal, acl.host, Operation(acl.operation).name, *pattern)
        yield DenialFacts(
            facts["principal"],
            facts["host"],
            facts["client_id"],
            facts["api"],
            operation.name,
            resource.name,
            name,
            REFUSALS[resource].name,
            count,
            ago_ms,
            denies,
        )


def _name(facts: Facts) -> str:
    names = (facts[each] for each in ("topic", "group", "transactional_id", "name"))
    return next((each for each in names if each is not None), CLUSTER_NAME)


def _throttles(services: Services, is_meant: IsMeant) -> Iterator[ThrottleFacts]:
    for facts, count, ago_ms in _lately(services, CLIENT_THROTTLED):
        is_late = ago_ms > facts["throttle_ms"] + THROTTLED_LATELY_MS
        if not is_late and is_meant({**facts, "host": host_of(facts["peer"])}):
            entity = tuple(facts["entity"])
            is_set = _is_set(services, entity, facts["quota"])
            yield ThrottleFacts(**{**facts, "entity": entity}, times=count, ago_ms=ago_ms, is_set=is_set)


def _is_set(services: Services, entity: tuple[str, ...], quota: str) -> bool:
    """Return whether the quota that throttled a client still exists."""
    from barnabas.broker.metadata.image.image import quota_entity

    pairs = (each.partition(" ")[::2] for each in entity)
    whose = quota_entity({kind: None if name == "<default>" else name for kind, name in pairs})
    return quota in services.catalogue.client_quotas.entities.get(whose, {})


def host_of(peer: str) -> str:
    """Return the address of a peer without its port."""
    return peer.rpartition(":")[0].strip("[]")


def _refusals(services: Services, meant: Meant) -> Iterator[RefusalFacts]:
    for facts, count, ago_ms in _lately(services, CONNECTION_NOT_AUTHENTICATED):
        if ago_ms <= LATELY_MS and ((is_sure := meant.client(facts)) or meant.maybe(facts)):
            who = {name: facts[name] for name in ("host", "client_id", "listener", "mechanism", "reason", "is_again")}
            yield RefusalFacts(**who, times=count, ago_ms=ago_ms, is_sure=is_sure)
    for facts, count, ago_ms in _lately(services, HANDSHAKE_FAILED):
        unidentified = {**facts, "client_id": None}
        if ago_ms <= LATELY_MS and ((is_sure := meant.client(unidentified)) or meant.maybe(unidentified)):
            reason = f"TLS handshake: {facts['reason']}"
            yield RefusalFacts(facts["host"], facts["listener"], reason, count, ago_ms, is_sure=is_sure)
    for facts, count, ago_ms in _lately(services, CONNECTION_THROTTLED):
        unidentified = {**facts, "client_id": None}
        if ago_ms <= THROTTLED_LATELY_MS and ((is_sure := meant.client(unidentified)) or meant.maybe(unidentified)):
            does = "is closed without being served" if facts["is_refused"] else "waits"
            reason = f"it arrived sooner than {facts['limit']} allows, and {does}"
            yield RefusalFacts(facts["host"], facts["listener"], reason, count, ago_ms, is_sure=is_sure)

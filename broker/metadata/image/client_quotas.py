"""Client quotas in the catalogue: the quotas that are set, and their changes, as in Kafka's ClientQuotaControlManager.

A quota applies to an entity: a user, a client id, both, or an IP address; a name of null is the default. The values are
stored as they were set, for any version of Kafka that reads them later; broker/clients/quotas/ interprets them. The
error messages are Kafka's. A host other than `localhost` must be an address: resolving a name would block all clients,
and Kafka, which does so, resolves it again at each start.

`alter` and `matching` change nothing; `ClientQuotas` is the interface to both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from barnabas.broker.config.listeners.connection_limits import parsed_address
from barnabas.broker.metadata.image.framing import Encoded, Versioned, encoded
from barnabas.broker.metadata.image.image import Image, QuotaEntity, quota_entity
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import ClientQuotaRecord, EntityData
from barnabas.storage.steps import Pauses, Steps, decided, finish

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
_OF_CLIENTS: Final = {
    "producer_byte_rate": True,
    "consumer_byte_rate": True,
    "request_percentage": False,
    "controller_mutation_rate": False,
}
"""The keys of users and client ids, and whether their values are integers."""
_OF_ADDRESSES: Final = {"connection_creation_rate": True}
KEYS: Final = (*_OF_CLIENTS, *_OF_ADDRESSES)
_LONG_MAX: Final = 0x7FFF_FFFF_FFFF_FFFF
_INT_MAX: Final = 0x7FFF_FFFF
_FRACTION_MAX: Final = 1e-6
_RECORDS_MAX: Final = 10_000
_EXACT, _DEFAULT, _SPECIFIED = range(3)

Entity = Mapping[str, str | None]


class QuotaAlteration(NamedTuple):
    """A requested change: some quotas of an entity; None removes one."""

    entity: Entity
    changes: Sequence[tuple[str, float | None]]


Outcomes = list[tuple[Entity, KafkaError | None]]


class ClientQuotas:
    """All client quotas, and the only way to change them."""

    def __init__(self, image: Image, commit: Callable[[Encoded], None]) -> None:
        self._image, self._commit = image, commit
        self.when_changed: list[Callable[[], None]] = []
        """Called after a change is durable, before its request is answered. Must not raise."""
        self.changes = 0
        """The number of changes so far: values derived from the quotas are valid while it stays the same."""

    @property
    def entities(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """The quotas of each entity."""
        return self._image.quotas

    def alter(self, alterations: Sequence[QuotaAlteration], *, validate_only: bool) -> Outcomes:
        """Make the valid changes in one batch; return each entity's result. Raise KafkaError if none was made."""
        return finish(self.alter_in_steps(alterations, validate_only=validate_only))

    def alter_in_steps(self, alterations: Sequence[QuotaAlteration], *, validate_only: bool) -> Steps[Outcomes]:
        """Do the same as `alter` in steps; decide again if the quotas were changed meanwhile."""
        decide = partial(self._decide, alterations, validate_only=validate_only)
        change, outcomes = yield from decided(decide, lambda: self.changes)
        if change.records:
            self._commit(change)
            self.changes += 1
            yield
            for notify in self.when_changed:
                notify()
        return outcomes

    def _decide(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool
    ) -> Steps[tuple[Encoded, Outcomes]]:
        records, outcomes = yield from alter(alterations, self._image.quotas)
        return (yield from encoded([] if validate_only else records)), outcomes


def alter(
    alterations: Sequence[QuotaAlteration], quotas: Mapping[QuotaEntity, Mapping[str, float]]
) -> Steps[tuple[list[Versioned], Outcomes]]:
    """Return the records and each entity's result: one named twice is refused, and its first change is made."""
    records: list[Versioned] = []
    outcomes: dict[QuotaEntity, tuple[Entity, KafkaError | None]] = {}
    pauses = Pauses()
    for wished, changes in alterations:
        if pauses.is_due(1 + len(wished) + len(changes)):
            yield
        key = quota_entity(wished)
        entity = dict(key)
        names = [name for name, _ in changes]
        if key in outcomes or len(names) != len(set(names)):
            outcomes[key] = entity, _invalid(f"Ignoring duplicate entity {_text(entity)}")
            continue
        try:
            records += _records(entity, changes, quotas.get(key, {}))
        except KafkaError as refusal:
            outcomes[key] = entity, refusal.as_value()
        else:
            outcomes[key] = entity, None
        if len(records) > _RECORDS_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    return records, list(outcomes.values())


def _records(entity: Entity, changes: Sequence[tuple[str, float | None]], own: Mapping[str, float]) -> list[Versioned]:
    known = _keys_of(entity)
    records = []
    for key, value in changes:
        parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        if value is None:
            if key in own:
                records.append(Versioned(ClientQuotaRecord(entity=parts, key=key, value=0.0, remove=True)))
            continue
        _check_value(known, key, value)
        if own.get(key) != value:
            records.append(Versioned(ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)))
    return records


def _keys_of(entity: Entity) -> Mapping[str, bool]:
    """Return the keys that the entity may have. Raise KafkaError INVALID_REQUEST if the entity is invalid."""
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in entity.items():
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP not in entity:
        return _OF_CLIENTS
    if len(entity) > 1:
        raise _invalid("Invalid quota entity combination, IP entity should not be combined with User or ClientId")
    address = entity[IP]
    if address is not None and parsed_address(address) is None:
        raise _invalid(f"{address} is not a valid IP or resolvable host.")
    return _OF_ADDRESSES


def _check_value(known: Mapping[str, bool], key: str, value: float) -> None:
    is_whole = known.get(key)
    if is_whole is None:
        raise _invalid(f"Invalid configuration key {key}")
    if not value > 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    if not is_whole:
        return
    most, kind = (_INT_MAX, "an INT") if known is _OF_ADDRESSES else (_LONG_MAX, "a LONG")
    if value > most:
        raise _invalid(f"Proposed value for {key} is too large for {kind}.")
    if value % 1.0 > _FRACTION_MAX:
        raise _invalid(f"{key} cannot be a fractional value.")


def matching(
    components: Sequence[tuple[str, int, str | None]],
    strict: bool,
    quotas: Mapping[QuotaEntity, Mapping[str, float]],
) -> Iterator[tuple[QuotaEntity, Mapping[str, float]]]:
    """Yield the entities that a filter matches: (type, match type, match) each. Raise KafkaError for an invalid filter.

    strict: without those that have other parts than the filter names.
    """
    exact, specified = _filter(components)
    if IP in {*exact, *specified} and {USER, CLIENT_ID} & {*exact, *specified}:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )
    for entity, values in quotas.items():
        parts = dict(entity)
        if strict and len(parts) != len(exact) + len(specified):
            continue
        if all(kind in parts and parts[kind] == name for kind, name in exact.items()) and specified <= parts.keys():
            yield entity, values


def _filter(components: Sequence[tuple[str, int, str | None]]) -> tuple[dict[str, str | None], set[str]]:
    """Return the types with their required names, and the types for which any name matches."""
    exact: dict[str, str | None] = {}
    specified: set[str] = set()
    for kind, match_type, match in components:
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in exact or kind in specified:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if match_type == _EXACT:
            if match is None:
                raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            exact[kind] = match
        elif match_type in (_DEFAULT, _SPECIFIED):
            if match is not None:
                name = "MATCH_TYPE_DEFAULT" if match_type == _DEFAULT else "MATCH_TYPE_SPECIFIED"
                raise _invalid(f"Request specified {name}, but also specified a match string.")
            if match_type == _DEFAULT:
                exact[kind] = None
            else:
                specified.add(kind)
        else:
            raise _invalid(f"Unknown match type {match_type}")
    return exact, specified


def _text(entity: Entity) -> str:
    """Return the entity's text as Java formats it."""
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity.items())
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _invalid(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, sentence)

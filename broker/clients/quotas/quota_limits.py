"""The assignment of quotas of one kind to clients: users and client ids, each named, default or open, in Kafka's order.

The first of these that is set:

    user and client id                    default user and client id
    user and default client id            default user and default client id
    user                                  default user
                                          client id
                                          default client id

Clients with the same quota do not necessarily share it: a quota of a user alone is shared by all clients of the user, a
quota of a client id by all users that use this client id, and of a default each user or client id has its own. The
shared usage is identified by `Sharing`; a field of it is empty if it does not matter.

Pure. As Apache Kafka's DefaultQuotaCallback, with one exception: only the types of entities that exist now matter.
Kafka remembers until its restart that there were others, and shares accordingly.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class EntityPart(Enum):
    """A value used in place of a name."""

    OPEN = "open"
    DEFAULT = "default"


Name = str | EntityPart
_OPEN, _DEFAULT = EntityPart.OPEN, EntityPart.DEFAULT


class Entity(NamedTuple):
    """The entity that a quota applies to."""

    user: Name = _OPEN
    client_id: Name = _OPEN


class Sharing(NamedTuple):
    """The clients that use one quota together."""

    user: str
    client_id: str


_CLIENT_IDS: Final = 1
_USERS: Final = 2
_BOTH: Final = 4


class QuotaLimits:
    """The quotas of one kind."""

    __slots__ = ("_kinds", "_limits")

    def __init__(self) -> None:
        self._limits: dict[Entity, float] = {}
        self._kinds = 0  # a bit for client ids, one for users, one for both

    def __bool__(self) -> bool:
        """Return whether any limit is set."""
        return bool(self._limits)

    def set(self, entity: Entity, limit: float | None) -> None:
        """Set the limit of an entity, None to remove it."""
        if limit is None:
            self._limits.pop(entity, None)
        else:
            self._limits[entity] = limit
        self._look_again()

    def replace(self, limits: Mapping[Entity, float]) -> None:
        """Replace all limits by these."""
        self._limits = dict(limits)
        self._look_again()

    def _look_again(self) -> None:
        self._kinds = 0
        for user, client_id in self._limits:
            self._kinds |= _CLIENT_IDS if user is _OPEN else _USERS if client_id is _OPEN else _BOTH

    def sharing(self, user: str, client_id: str) -> Sharing:
        """Return the sharing that a client's usage counts for."""
        kinds, limits = self._kinds, self._limits
        if kinds <= _CLIENT_IDS:
            return Sharing("", client_id)
        if kinds == _USERS:
            return Sharing(user, "")
        if kinds == _BOTH:
            return Sharing(user, client_id)
        if Entity(user, client_id) in limits or Entity(user, _DEFAULT) in limits:
            return Sharing(user, client_id)
        if Entity(user) in limits:
            return Sharing(user, "")
        if Entity(_DEFAULT, client_id) in limits or Entity(_DEFAULT, _DEFAULT) in limits:
            return Sharing(user, client_id)
        return Sharing(user, "") if Entity(_DEFAULT) in limits else Sharing("", client_id)

    def limit(self, sharing: Sharing) -> float | None:
        """Return the limit of the shared usage; None for no limit."""
        entity = self.entity(sharing)
        return None if entity is None else self._limits[entity]

    def entity(self, sharing: Sharing) -> Entity | None:
        """Return the entity whose quota applies; None if there is none."""
        user, client_id = sharing
        order: tuple[Entity, ...]
        if user and client_id:
            order = Entity(user, client_id), Entity(user, _DEFAULT), Entity(_DEFAULT, client_id), _BOTH_DEFAULT
        elif user:
            order = Entity(user), Entity(_DEFAULT)
        elif client_id:
            order = Entity(client_id=client_id), Entity(client_id=_DEFAULT)
        else:
            return None
        for entity in order:
            if entity in self._limits:
                return entity
        return None


_BOTH_DEFAULT: Final = Entity(_DEFAULT, _DEFAULT)

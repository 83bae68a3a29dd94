"""The quotas of clients while quotas are set: the four kinds, and their use by a request.

Knows the client and the cost of requests; broker/api/stages/throttling.py knows the answers and how a client is
delayed. Time is in milliseconds of the clock that clients see, and never goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.broker.clients.quotas.client_quota_manager import ClientQuotaManager, QuotaClient, Usage
from barnabas.broker.clients.quotas.controller_mutation_quota import (
    ControllerMutationQuota,
    ControllerMutationQuotaManager,
)
from barnabas.broker.clients.quotas.muted_connections import MutedConnections
from barnabas.broker.clients.quotas.quota_limits import Entity, EntityPart
from barnabas.broker.clients.quotas.sampled_rate import WindowSettings

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.image.image import QuotaEntity
    from barnabas.broker.runtime.clock import Clock, Stopwatch

_PERCENT: Final = 100.0
_MS: Final = 1000


class KindUsage(NamedTuple):
    """The usage of one kind of quota by the clients that share it."""

    kind: str
    """The name of the group of its metrics in Kafka."""
    usage: Usage


class ThrottlingQuota(NamedTuple):
    """The quota that throttles a client."""

    quota: str
    """The key of the quota in kafka-configs.sh."""
    entity: list[str]
    """The entity, such as user alice, client-id <default>."""
    limit: float | None


class QuotaManagers:
    """The quotas of one node."""

    def __init__(self, config: BrokerConfig, clock: Clock, stopwatch: Stopwatch) -> None:
        settings = WindowSettings(config.integer("quota.window.num"), config.integer("quota.window.size.seconds") * _MS)
        self.produce, self.fetch = ClientQuotaManager(settings), ClientQuotaManager(settings)
        self.request = ClientQuotaManager(settings, throttle_ms_max=settings.size_ms)
        self.mutations = ControllerMutationQuotaManager(
            WindowSettings(
                config.integer("controller.quota.window.num"),
                config.integer("controller.quota.window.size.seconds") * _MS,
            )
        )
        self.muting = MutedConnections(clock)
        self.stopwatch = stopwatch
        self._clock = clock
        self._keys: dict[str, ClientQuotaManager | ControllerMutationQuotaManager] = {
            "producer_byte_rate": self.produce,
            "consumer_byte_rate": self.fetch,
            "request_percentage": self.request,
            "controller_mutation_rate": self.mutations,
        }

    def now_ms(self) -> int:
        """Return milliseconds since an arbitrary moment."""
        return int(self._clock.monotonic() * _MS)

    def follow(self, stored: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Apply exactly these quotas to usage from now on. Earlier usage counts, too."""
        wanted: dict[str, dict[Entity, float]] = {key: {} for key in self._keys}
        for parts, values in stored.items():
            named = dict(parts)
            if "ip" not in named:
                entity = _entity(named)
                for key, value in values.items():
                    if key in wanted and isfinite(value) and value > 0:
                        wanted[key][entity] = value
        for key, quotas in self._keys.items():
            quotas.limits.replace(wanted[key])
            if not quotas.limits:
                quotas.forget()

    def admission(self, measured: MeasuredRequest, is_strict: bool, waits: bool = True) -> Callable[[int], None] | None:
        """Return the admission as in NodeQuotas. waits: whether the client is throttled if it used too much."""
        if not self.mutations.limits:
            return None
        mutations = ControllerMutationQuota(self.mutations, measured.client, self.now_ms, is_strict=is_strict)
        if waits:
            measured.mutations = mutations
        return mutations.admit

    def throttling_quota(self, measured: MeasuredRequest) -> ThrottlingQuota:
        """Return the quota that throttles the client of a request."""
        kept = measured.throttling_quota or self.request
        key = next(key for key, quotas in self._keys.items() if quotas is kept)
        sharing = kept.limits.sharing(*measured.client)
        entity = kept.limits.entity(sharing)
        return ThrottlingQuota(key, [] if entity is None else entity_texts(entity), kept.limits.limit(sharing))

    def usage(self) -> Iterator[KindUsage]:
        """Yield the usage of all clients in the last hour, for metrics."""
        now_ms = self.now_ms()
        kinds = ("Produce", self.produce), ("Fetch", self.fetch), ("Request", self.request)
        for name, quotas in kinds:
            yield from (KindUsage(name, each) for each in quotas.usage(now_ms))
        yield from (KindUsage("ControllerMutation", each) for each in self.mutations.usage(now_ms))


class MeasuredRequest:
    """One request, from its frame to its answer: its client, and its usage."""

    __slots__ = (
        "_began_s",
        "_in_force",
        "busy_s",
        "client",
        "is_judged",
        "mutations",
        "throttle_ms",
        "throttling_quota",
    )

    def __init__(self, in_force: QuotaManagers, user: str, client_id: str) -> None:
        self._in_force = in_force
        self.client = QuotaClient(user, client_id)
        self._began_s = in_force.stopwatch()
        self.busy_s = 0.0
        """How long the event loop was busy with it before it was answered or had to wait; 0 until then."""
        self.mutations: ControllerMutationQuota | None = None
        self.is_judged = False
        """Whether its answer has been checked already, and its usage is recorded."""
        self.throttle_ms = 0
        """The throttle time of the client."""
        self.throttling_quota: ClientQuotaManager | ControllerMutationQuotaManager | None = None
        """The quota that causes the throttle time."""

    def note_busy(self) -> None:
        """Note that it is answered, or has to wait."""
        self.busy_s = self._in_force.stopwatch() - self._began_s

    def may_fetch(self, size: int) -> bool:
        """Return whether the client may get an answer of `size` bytes now; else it gets no data, and is throttled.

        The time of reading after a wait is not counted, as in Kafka.
        """
        in_force, now_ms = self._in_force, self._in_force.now_ms()
        self.is_judged = True
        request_ms = self._request_ms(self.busy_s or in_force.stopwatch() - self._began_s, now_ms)
        fetch_ms = in_force.fetch.record(self.client, size, now_ms) if in_force.fetch.limits else 0
        self.throttle_ms = max(request_ms, fetch_ms)
        if self.throttle_ms and in_force.fetch.limits:
            in_force.fetch.note(self.client, -size, now_ms)
        self._note(in_force.fetch if fetch_ms > request_ms else in_force.request, now_ms)
        return not self.throttle_ms

    def produced(self, size: int, *, is_answered: bool) -> None:
        """Record a produce request of `size` bytes; without an answer (acks=0) only its bytes count."""
        in_force, now_ms = self._in_force, self._in_force.now_ms()
        request_ms = self._request_ms(self.busy_s, now_ms) if is_answered else 0
        produce_ms = in_force.produce.record(self.client, size, now_ms) if in_force.produce.limits else 0
        self.throttle_ms = max(request_ms, produce_ms)
        self._note(in_force.produce if produce_ms > request_ms else in_force.request, now_ms)

    def served(self) -> None:
        """Record any other request."""
        in_force, now_ms = self._in_force, self._in_force.now_ms()
        request_ms = self._request_ms(self.busy_s, now_ms)
        mutations_ms = 0 if self.mutations is None else self.mutations.throttle_ms()
        self.throttle_ms = max(request_ms, mutations_ms)
        self._note(in_force.mutations if mutations_ms > request_ms else in_force.request, now_ms)

    def _request_ms(self, busy_s: float, now_ms: int) -> int:
        quotas = self._in_force.request
        return quotas.record(self.client, busy_s * _PERCENT, now_ms) if quotas.limits else 0

    def _note(self, quotas: ClientQuotaManager | ControllerMutationQuotaManager, now_ms: int) -> None:
        if self.throttle_ms:
            self.throttling_quota = quotas
            quotas.note_throttled(self.client, self.throttle_ms, now_ms)


def _entity(parts: Mapping[str, str | None]) -> Entity:
    user, client_id = (
        EntityPart.OPEN if kind not in parts else parts[kind] or EntityPart.DEFAULT for kind in ("user", "client-id")
    )
    return Entity(user, client_id)


def entity_texts(entity: Entity) -> list[str]:
    """Return the entity of a quota in readable form."""
    named = (("user", entity.user), ("client-id", entity.client_id))
    return [
        f"{kind} {'<default>' if part is EntityPart.DEFAULT else part}"
        for kind, part in named
        if part is not EntityPart.OPEN
    ]

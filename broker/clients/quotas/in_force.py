"""The quotas of clients while there are some: the four kinds, and what the request in hand uses of them.

Knows requests by whom they are from and what they cost; what an answer is, and how a client is made to wait, is the
business of broker/api/stages/throttling.py. Time is in milliseconds of the clock that clients are told, and never goes
back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.broker.clients.quotas.limits import Entity, Part
from barnabas.broker.clients.quotas.mutations import MutationQuotas, Mutations
from barnabas.broker.clients.quotas.muting import Muting
from barnabas.broker.clients.quotas.rates import Client, RateQuotas, Usage
from barnabas.broker.clients.quotas.windows import WindowSettings

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.image.image import QuotaEntity
    from barnabas.broker.runtime.clock import Clock, Stopwatch

_PERCENT: Final = 100.0
_MS: Final = 1000


class KindUsage(NamedTuple):
    """What some clients use together of one kind of quota."""

    kind: str
    """As Kafka names the group of its metrics."""
    usage: Usage


class Held(NamedTuple):
    """The quota for which a client waits."""

    quota: str
    """As kafka-configs.sh calls it."""
    entity: list[str]
    """user alice, client-id <default>"""
    limit: float | None


class InForce:
    """Those of one node."""

    def __init__(self, config: BrokerConfig, clock: Clock, stopwatch: Stopwatch) -> None:
        settings = WindowSettings(config.integer("quota.window.num"), config.integer("quota.window.size.seconds") * _MS)
        self.produce, self.fetch = RateQuotas(settings), RateQuotas(settings)
        self.request = RateQuotas(settings, throttle_ms_max=settings.size_ms)
        self.mutations = MutationQuotas(
            WindowSettings(
                config.integer("controller.quota.window.num"),
                config.integer("controller.quota.window.size.seconds") * _MS,
            )
        )
        self.muting = Muting(clock)
        self.stopwatch = stopwatch
        self.asking: Asking | None = None
        """The request in hand, while its entry is called."""
        self._clock = clock
        self._keys: dict[str, RateQuotas | MutationQuotas] = {
            "producer_byte_rate": self.produce,
            "consumer_byte_rate": self.fetch,
            "request_percentage": self.request,
            "controller_mutation_rate": self.mutations,
        }

    def now_ms(self) -> int:
        """Milliseconds from any moment on."""
        return int(self._clock.monotonic() * _MS)

    def follow(self, stored: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Exactly these are in force from now on, for what is used next. What was used before counts."""
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

    def admission(self, is_strict: bool, waits: bool = True) -> Callable[[int], None] | None:
        """See NodeQuotas. waits: whether the client is to wait, where it used too much."""
        asking = self.asking
        if asking is None or not self.mutations.limits:
            return None
        mutations = Mutations(self.mutations, asking.client, self.now_ms, is_strict=is_strict)
        if waits:
            asking.mutations = mutations
        return mutations.admit

    def held_by(self, asking: Asking) -> Held:
        """The quota for which the client of a request waits."""
        kept = asking.held_by or self.request
        key = next(key for key, quotas in self._keys.items() if quotas is kept)
        sharing = kept.limits.sharing(*asking.client)
        entity = kept.limits.entity(sharing)
        return Held(key, [] if entity is None else entity_texts(entity), kept.limits.limit(sharing))

    def usage(self) -> Iterator[KindUsage]:
        """Of everybody who used something in the last hour, for metrics."""
        now_ms = self.now_ms()
        kinds = ("Produce", self.produce), ("Fetch", self.fetch), ("Request", self.request)
        for name, quotas in kinds:
            yield from (KindUsage(name, each) for each in quotas.usage(now_ms))
        yield from (KindUsage("ControllerMutation", each) for each in self.mutations.usage(now_ms))


class Asking:
    """One request, from its frame to its answer: whom it is from, and what it uses."""

    __slots__ = ("_in_force", "busy_s", "client", "held_by", "is_judged", "mutations", "throttle_ms")

    def __init__(self, in_force: InForce, user: str, client_id: str) -> None:
        self._in_force = in_force
        self.client = Client(user, client_id)
        self.busy_s = 0.0
        """How long the event loop was busy with it before it was answered or had to wait."""
        self.mutations: Mutations | None = None
        self.is_judged = False
        """Whether its answer was judged already, and what was used is recorded."""
        self.throttle_ms = 0
        """How long the client is to wait."""
        self.held_by: RateQuotas | MutationQuotas | None = None
        """For which quota."""

    def may_fetch(self, size: int, busy_s: float) -> bool:
        """Whether the client may be given an answer of so many bytes now; else it gets none, and waits."""
        in_force, now_ms = self._in_force, self._in_force.now_ms()
        self.is_judged = True
        request_ms = self._request_ms(busy_s, now_ms)
        fetch_ms = in_force.fetch.record(self.client, size, now_ms) if in_force.fetch.limits else 0
        self.throttle_ms = max(request_ms, fetch_ms)
        if self.throttle_ms and in_force.fetch.limits:
            in_force.fetch.note(self.client, -size, now_ms)
        self._note(in_force.fetch if fetch_ms > request_ms else in_force.request, now_ms)
        return not self.throttle_ms

    def produced(self, size: int, *, is_answered: bool) -> None:
        """A request to produce, of so many bytes; only its bytes count where it gets no answer (acks=0)."""
        in_force, now_ms = self._in_force, self._in_force.now_ms()
        request_ms = self._request_ms(self.busy_s, now_ms) if is_answered else 0
        produce_ms = in_force.produce.record(self.client, size, now_ms) if in_force.produce.limits else 0
        self.throttle_ms = max(request_ms, produce_ms)
        self._note(in_force.produce if produce_ms > request_ms else in_force.request, now_ms)

    def served(self) -> None:
        """Any other request."""
        in_force, now_ms = self._in_force, self._in_force.now_ms()
        request_ms = self._request_ms(self.busy_s, now_ms)
        mutations_ms = 0 if self.mutations is None else self.mutations.throttle_ms()
        self.throttle_ms = max(request_ms, mutations_ms)
        self._note(in_force.mutations if mutations_ms > request_ms else in_force.request, now_ms)

    def _request_ms(self, busy_s: float, now_ms: int) -> int:
        quotas = self._in_force.request
        return quotas.record(self.client, busy_s * _PERCENT, now_ms) if quotas.limits else 0

    def _note(self, quotas: RateQuotas | MutationQuotas, now_ms: int) -> None:
        if self.throttle_ms:
            self.held_by = quotas
            quotas.note_throttled(self.client, self.throttle_ms, now_ms)


def _entity(parts: Mapping[str, str | None]) -> Entity:
    user, client_id = (
        Part.OPEN if kind not in parts else parts[kind] or Part.DEFAULT for kind in ("user", "client-id")
    )
    return Entity(user, client_id)


def entity_texts(entity: Entity) -> list[str]:
    """Whose a quota is, as people say it."""
    named = (("user", entity.user), ("client-id", entity.client_id))
    return [f"{kind} {'<default>' if part is Part.DEFAULT else part}" for kind, part in named if part is not Part.OPEN]

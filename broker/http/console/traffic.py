"""Records and bytes a second, over the last five to ten seconds: differences of counters that the metrics have.

Nothing is counted for it. The counters are read when a page is looked at, and twice a second at most; so the first look
after a while has no rates. Invariant: at most two readings are held.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.http.metrics.partitions import bytes_read
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Services

SPACE_S = 5.0
"""Between readings that are held, so that rates do not jump."""
STALE_S = 15.0
"""A reading from before a longer break says nothing about now."""
_FRESH_S = 0.5
_LOGS_IN_A_STEP = 500


class TopicRates(NamedTuple):
    """Records and bytes a second, of one topic or of all."""

    records_in: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0


class TrafficRates(NamedTuple):
    """The rates of all topics together, and of each that has any."""

    total: TopicRates
    by_topic: dict[str, TopicRates]

    def of(self, topic: str) -> TopicRates:
        """Return those of a topic."""
        return self.by_topic.get(topic, TopicRates())


class _Reading(NamedTuple):
    at_s: float
    counters: tuple[Counter[str], Counter[str], Counter[str]]
    """Records in, bytes in, bytes out, by topic."""


class Traffic:
    """The last readings of the counters."""

    def __init__(self, services: Services, meter: Meter, clock: Clock) -> None:
        """Create it without readings. clock: the machine's."""
        self._services, self._meter, self._clock = services, meter, clock
        self._held: list[_Reading] = []
        self._newest_s = -STALE_S
        self._rates: TrafficRates | None = None

    def rates(self) -> Steps[TrafficRates | None]:
        """Return, in steps, the rates now; None if there is no reading to compare with."""
        now_s = self._clock.monotonic()
        if now_s - self._newest_s < _FRESH_S:
            return self._rates
        if now_s - self._newest_s > STALE_S:
            self._held.clear()
        self._newest_s = now_s
        reading = yield from self._read(now_s)
        self._rates = _between(self._held[0], reading) if self._held else None
        if not self._held or now_s - self._held[-1].at_s >= SPACE_S:
            self._held = [*self._held[-1:], reading]
        return self._rates

    def _read(self, now_s: float) -> Steps[_Reading]:
        records, size = Counter[str](), Counter[str]()
        for number, log in enumerate(list(self._services.partitions.open_logs()), start=1):
            more_records, more_bytes = log.appended
            records[log.topic] += more_records
            size[log.topic] += more_bytes
            if number % _LOGS_IN_A_STEP == 0:
                yield
        read = bytes_read(self._services, self._meter)
        read.pop("", None)  # of topics that were deleted
        return _Reading(now_s, (records, size, read))


def _between(before: _Reading, now: _Reading) -> TrafficRates:
    """Return the rates between two readings. A counter that is smaller is of a topic that was created again."""
    elapsed_s = now.at_s - before.at_s
    parts = []
    for old, new in zip(before.counters, now.counters, strict=True):
        more = ((topic, count - old[topic]) for topic, count in new.items())
        parts.append({topic: each / elapsed_s for topic, each in more if each > 0})
    topics = dict.fromkeys(topic for part in parts for topic in part)
    return TrafficRates(
        TopicRates(*(sum(part.values()) for part in parts)),
        {topic: TopicRates(*(part.get(topic, 0.0) for part in parts)) for topic in topics},
    )

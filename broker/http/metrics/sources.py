"""The sources of a scrape, and its results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.broker.http.metrics.metric import HISTOGRAM
from barnabas.broker.http.metrics.metric_table import BY_NAME

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.services import Services


class RegistryFigures(NamedTuple):
    """The figures of the schema registry. created, deleted: versions by schema type. answers: by status."""

    subjects: int
    created: Mapping[str, int]
    deleted: Mapping[str, int]
    answers: Mapping[int, int]


class Sources(NamedTuple):
    """The parts of a broker that metrics are read from."""

    services: Services
    meter: Meter
    connections: Callable[[], Mapping[int, int]]
    """Returns the number of connections of Kafka's protocol, by node id."""
    state: Callable[[], int]
    """Returns Kafka's number of the broker's state: 1 while it starts, 3 while it runs, 6 while it stops."""
    sasl_listeners: Sequence[SaslListener] = ()
    """The listeners with authentication, of all nodes."""
    registry: RegistryFigures | None = None
    """None without a schema registry, or before its first request."""


class Times(NamedTuple):
    """The value of a histogram."""

    buckets: Sequence[tuple[str, int]]
    """(upper bound, number of values up to it), the last one `+Inf`."""
    total: float | None
    """The sum of the values; None if a client does not send it."""


class Readings:
    """The values of one scrape, by metric."""

    def __init__(self) -> None:
        self.values: defaultdict[str, list[tuple[dict[str, str], Any]]] = defaultdict(list)
        """name -> [(labels, number or Times)]"""

    def add(self, name: str, value: float | Times, *labels: object) -> None:
        """Add a value. `labels` are those of the table in order, or none at all for the sum over them."""
        metric = BY_NAME[name]
        assert isinstance(value, Times) == (metric.kind == HISTOGRAM), f"{name} is a {metric.kind}"
        assert len(labels) in (0, len(metric.labels)), f"{name} has the labels {metric.labels}"
        named = dict(zip(metric.labels, map(str, labels), strict=False))
        self.values[name].append((named, value))

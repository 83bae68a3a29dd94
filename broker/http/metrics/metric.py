"""A metric: its name, kind, labels and meaning, and the exporter whose name it has."""

from __future__ import annotations

from typing import NamedTuple

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
JMX, LAG, OWN = "JMX exporter", "kafka_exporter", "Barnabas"


class Metric(NamedTuple):
    """One row."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str
    like: str
    """The exporter whose name it has."""

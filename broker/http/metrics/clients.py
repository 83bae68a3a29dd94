"""Metrics pushed by clients (KIP-714): names and labels chosen by clients are converted for Prometheus.

`org.apache.kafka.producer.record.send.total` is `barnabas_client_producer_record_send_total`. Every series identifies
its client, in labels that a client's own attributes never replace. The number of series is limited where they are
stored (`broker/clients/telemetry/series.py`).
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from barnabas.broker.http.metrics.sources import Readings, Sources, Times
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.clients.telemetry.points import Histogram

PUSHED_HELP = "Pushed by clients; the broker does not check the values."
_PREFIX = "barnabas_client_"
_LEFT_AWAY = "org.apache.kafka."
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_]")
_A_STEP = 200

_PARTS = ("_bucket", "_count", "_sum")

_Key = tuple[str, frozenset[tuple[str, str]]]
Series = tuple[str, dict[str, str], float | Times]


def read_clients(sources: Sources, readings: Readings) -> None:
    """Add how many values of clients were dropped, if clients push any."""
    telemetry = sources.services.deferred_telemetry.built
    if telemetry is not None:
        readings.add("barnabas_metrics_left_out", telemetry.series.left_out, "client metrics")


def read_pushed(sources: Sources) -> Steps[list[Series]]:
    """Return, in steps, (name, labels, value) of every metric that clients pushed and that is still stored."""
    telemetry = sources.services.deferred_telemetry.built
    found: dict[_Key, Series] = {}
    if telemetry is None:
        return []
    yield from telemetry.forget_gone()
    passed = 0
    for client in telemetry.series.clients():
        whose = {"client_instance_id": client.instance_id, "client_id": client.client_id}
        for name, attributes, value in telemetry.series.of(client):
            labels = {_label(key): text for key, text in attributes.items()} | whose
            fit = _PREFIX + _NOT_IN_A_NAME.sub("_", name.removeprefix(_LEFT_AWAY))
            shown: float | Times = value if isinstance(value, float) else _times(value)
            if isinstance(shown, Times):
                labels.pop("le", None)  # its buckets have it
            found[_key(fit, labels)] = fit, labels, shown  # two with the same converted name and labels are one
            passed += len(shown.buckets) if isinstance(shown, Times) else 1
            if passed >= _A_STEP:
                passed = 0
                yield
    return [each for each in found.values() if not _is_part_of_another(each, found)]


def _key(name: str, labels: dict[str, str]) -> _Key:
    return name, frozenset(labels.items())


def _is_part_of_another(series: Series, found: dict[_Key, Series]) -> bool:
    """Return whether it has the name of the buckets, the count or the sum of a histogram with the same labels."""
    name, labels, _ = series
    without_le = {key: text for key, text in labels.items() if key != "le"}
    for part in _PARTS:
        if name.endswith(part):
            whole = found.get(_key(name.removesuffix(part), without_le))
            return whole is not None and isinstance(whole[2], Times)
    return False


def _times(histogram: Histogram) -> Times:
    """Convert to the cumulative buckets of Prometheus."""
    bounds = [*map(repr, histogram.bounds), "+Inf"]
    return Times(list(zip(bounds, accumulate(histogram.counts), strict=True)), histogram.total)


def _label(key: str) -> str:
    fit = _NOT_IN_A_NAME.sub("_", key) or "_"
    return f"_{fit}" if fit[0].isdigit() else fit.lstrip("_") or "_"

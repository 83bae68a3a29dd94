"""What clients pushed of themselves (KIP-714): metrics whose names and labels they choose, made fit for Prometheus.

`org.apache.kafka.producer.record.send.total` is `barnabas_client_producer_record_send_total`. Every series says whose
it is, in labels that a client's own attributes never replace. How many series there are is bounded where they are kept
(`broker/telemetry/series.py`).
"""

from __future__ import annotations

import re

from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.storage.steps import Steps

PUSHED_HELP = "Pushed by clients, and as they say."
_PREFIX = "barnabas_client_"
_LEFT_AWAY = "org.apache.kafka."
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_]")
_A_STEP = 200

Series = tuple[str, dict[str, str], float]


def read_clients(sources: Sources, readings: Readings) -> None:
    """Add how many values of clients were not kept, where clients push any."""
    telemetry = sources.services.deferred_telemetry.built
    if telemetry is not None:
        readings.add("barnabas_metrics_left_out", telemetry.series.left_out, "client metrics")


def read_pushed(sources: Sources) -> Steps[list[Series]]:
    """(name, labels, value) of every series that a client pushed which is still there."""
    telemetry = sources.services.deferred_telemetry.built
    found: dict[tuple[str, frozenset[tuple[str, str]]], Series] = {}
    if telemetry is None:
        return []
    yield from telemetry.forget_gone()
    for client in telemetry.series.clients():
        whose = {"client_instance_id": client.instance_id, "client_id": client.client_id}
        for number, (name, attributes, value) in enumerate(telemetry.series.of(client), start=1):
            labels = {_label(key): text for key, text in attributes.items()} | whose
            fit = _PREFIX + _NOT_IN_A_NAME.sub("_", name.removeprefix(_LEFT_AWAY))
            found[fit, frozenset(labels.items())] = fit, labels, value  # two that are fit for the same are one
            if number % _A_STEP == 0:
                yield
    return list(found.values())


def _label(key: str) -> str:
    fit = _NOT_IN_A_NAME.sub("_", key) or "_"
    return f"_{fit}" if fit[0].isdigit() else fit.lstrip("_") or "_"

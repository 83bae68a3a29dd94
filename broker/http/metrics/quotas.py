"""Quotas of clients: their usage, and their throttle times. Nothing while there are no quotas."""

from __future__ import annotations

from barnabas.broker.http.metrics.metric_table import QUOTAS_MAX
from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.storage.steps import Steps

_RATES = {
    "Produce": "kafka_server_quota_byte_rate",
    "Fetch": "kafka_server_quota_byte_rate",
    "Request": "kafka_server_quota_request_time",
    "ControllerMutation": "kafka_server_quota_mutation_rate",
}
_A_STEP = 50


def read_quotas(sources: Sources, readings: Readings) -> Steps[None]:
    """Add the quota usage of every node separately, as the brokers of a Kafka cluster report it."""
    muted, shown, left_out = 0, 0, 0
    is_any = False
    for services in sources.services.every_node:
        in_force = services.quotas.in_force
        if in_force is None:
            continue
        is_any = True
        muted += len(in_force.muting)
        for kind, usage in in_force.usage():
            if shown >= QUOTAS_MAX:
                left_out += 1
                continue
            shown += 1
            labels = kind, usage.sharing.user, usage.sharing.client_id, services.node.node_id
            readings.add(_RATES[kind], usage.rate, *labels)
            readings.add("kafka_server_quota_throttle_time", usage.throttle_ms, *labels)
            if not shown % _A_STEP:
                yield
    if is_any:
        readings.add("barnabas_connections_muted", muted)
        readings.add("barnabas_metrics_left_out", left_out, "quotas")

"""Share groups: what is in flight in their partitions, and how deliveries ended."""

from __future__ import annotations

from barnabas.broker.http.metrics.metric_table import GROUPS_MAX, SHARE_PARTITIONS_MAX
from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.insight.inspection.share_partitions import (
    UsedSharePartition,
    dead_letters,
    delivery_totals,
    share_coordinators,
    share_sessions,
    used_share_partitions,
)
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.storage.steps import Steps

_OF_GROUP = "kafka_server_sharegroupmetrics_"
_OF_COORDINATOR = "kafka_server_share_coordinator_metrics_"
_OF_PARTITION = "kafka_server_sharepartitionmetrics_"


def read_share_groups(sources: Sources, readings: Readings) -> Steps[None]:
    """Add the values of share groups."""
    services = sources.services
    totals = delivery_totals(services)
    for kind in AcknowledgeType:
        if kind is not AcknowledgeType.GAP:
            name = f"{_OF_GROUP}recordacknowledgements_total"
            readings.add(name, totals.acknowledged[kind], kind.name.capitalize())
    for reason, count in totals.archived.items():
        readings.add("barnabas_share_records_archived_total", count, reason)
    dead = dead_letters(services)
    for letters in dead[:GROUPS_MAX]:
        readings.add(f"{_OF_GROUP}deadletterqueuerecordcount", letters.written, letters.group_id)
        readings.add(f"{_OF_GROUP}deadletterqueuetotalproducerequests_total", letters.appends, letters.group_id)
        readings.add(f"{_OF_GROUP}deadletterqueuefailedproducerequests_total", letters.failed_appends, letters.group_id)
        readings.add("barnabas_share_dead_letters_lost_total", letters.lost, letters.group_id)
    coordinators = share_coordinators(services)
    readings.add(f"{_OF_COORDINATOR}write_total", coordinators.writes)
    for state in ("active", "loading", "failed"):
        readings.add(f"{_OF_COORDINATOR}num_partitions", coordinators.partitions_by_state[state], state)
    sessions = list(share_sessions(services))
    readings.add("kafka_server_sharesessioncache_sharesessionscount", len(sessions))
    partitions_count = sum(each.partitions_count for each in sessions)
    readings.add("kafka_server_sharesessioncache_sharepartitionscount", partitions_count)
    used = sorted(used_share_partitions(services), key=lambda each: (each.group_id, each.topic, each.partition))
    for each in used[:SHARE_PARTITIONS_MAX]:
        _read_share_partition(each, readings)
        yield
    readings.add("barnabas_metrics_left_out", max(0, len(used) - SHARE_PARTITIONS_MAX), "share partitions")


def _read_share_partition(used: UsedSharePartition, readings: Readings) -> None:
    summary = used.summary()
    if summary is None:
        return
    place = used.group_id, used.topic, used.partition
    readings.add(f"{_OF_PARTITION}inflightmessagecount", summary.span, *place)
    readings.add(f"{_OF_PARTITION}inflightbatchcount", summary.batches_count, *place)
    readings.add(f"{_OF_PARTITION}acquisitionlocktimeout_total", summary.lock_timeouts, *place)
    readings.add("barnabas_share_partition_acquired", summary.acquired, *place)
    if summary.lag is not None:
        readings.add("barnabas_share_partition_lag", summary.lag, *place)

"""The broker as a whole: its identity, its state, and its numbers of topics, partitions and connections."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.insight.inspection.logs import (
    below_min_insync_replicas,
    disk_space_readings,
    offline_directories,
    offline_reason,
    refused,
    still_recovering,
)
from barnabas.broker.insight.inspection.nodes import running, spread
from barnabas.broker.insight.inspection.topics import every_topic
from barnabas.broker.runtime.workers.helper import resident_bytes
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener


def read_broker(sources: Sources, readings: Readings) -> Steps[None]:
    """Add the values of the broker as a whole, and of each of its nodes."""
    services = sources.services
    found_on = yield from spread(services)
    found, cluster = every_topic(services), services.cluster
    partitions = sum(topic.partitions_count for topic in found)
    here = sum(len(topic.here) for topic in found)
    is_offline = offline_reason(services) is not None
    offline = here if is_offline else 0
    node = services.node
    readings.add("barnabas_info", 1, _version(), node.node_id, node.cluster_id)
    readings.add("kafka_server_kafkaserver_brokerstate", sources.state())
    readings.add("kafka_brokers", len(cluster.nodes(node)))
    is_controller = cluster.controller_id == cluster.node_id
    readings.add("kafka_controller_kafkacontroller_activecontrollercount", int(is_controller))
    readings.add("kafka_controller_kafkacontroller_globaltopiccount", len(found))
    readings.add("kafka_controller_kafkacontroller_globalpartitioncount", partitions)
    readings.add("kafka_controller_kafkacontroller_offlinepartitionscount", offline + found_on.leaderless)
    readings.add("kafka_server_replicamanager_partitioncount", here)
    readings.add("kafka_server_replicamanager_leadercount", here - offline)
    readings.add("kafka_server_replicamanager_underreplicatedpartitions", found_on.under_replicated)
    readings.add("kafka_server_replicamanager_underminisrpartitioncount", below_min_insync_replicas(services))
    readings.add("kafka_server_replicamanager_offlinereplicacount", offline)
    readings.add("kafka_log_logmanager_offlinelogdirectorycount", offline_directories(services))
    for path, recovering in still_recovering(services).items():
        readings.add("kafka_log_logmanager_remaininglogstorecover", recovering.logs, path)
        readings.add("kafka_log_logmanager_remainingsegmentstorecover", recovering.segments, path)
    readings.add("barnabas_partitions_refused", refused(services))
    pids = services.workers.pids
    readings.add("barnabas_helper_processes", len(pids))
    readings.add("barnabas_helper_processes_resident_memory_bytes", sum(map(resident_bytes, pids)))
    for room in disk_space_readings(services):
        readings.add("barnabas_data_directory_full", int(room.is_full), room.path)
        if room.volume is not None:
            readings.add("barnabas_data_directory_usable_bytes", room.volume.usable_bytes, room.path)
            readings.add("barnabas_data_directory_total_bytes", room.volume.total_bytes, room.path)
    connections = sources.connections()
    readings.add("kafka_server_socket_server_metrics_connection_count", sum(connections.values()))
    _read_outcomes(sources.sasl_listeners, readings)
    for node_id, is_running in sorted(running(services).items()):
        readings.add("barnabas_node_running", int(is_running), node_id)
        readings.add("barnabas_node_leaders", found_on.leads[node_id], node_id)
        readings.add("barnabas_node_replicas", found_on.replicas[node_id], node_id)
        readings.add("barnabas_node_connections", connections.get(node_id, 0), node_id)


def _read_outcomes(sasl_listeners: Sequence[SaslListener], readings: Readings) -> None:
    """Add the outcomes of authentications, by listener, summed over the nodes."""
    for listener in dict.fromkeys(each.listener for each in sasl_listeners):
        outcomes = [each.outcomes for each in sasl_listeners if each.listener == listener]
        for name, counts in (
            ("successful_authentication", [each.let_in for each in outcomes]),
            ("failed_authentication", [each.refused for each in outcomes]),
            ("successful_reauthentication", [each.let_in_again for each in outcomes]),
            ("failed_reauthentication", [each.refused_again for each in outcomes]),
            ("expired_connections_killed", [each.expired for each in outcomes]),
        ):
            readings.add(f"kafka_server_socket_server_metrics_{name}_total", sum(counts), listener)


def _version() -> str:
    """Return the version of the package; "unknown" in a source tree that is not installed."""
    try:
        return version("barnabas")
    except PackageNotFoundError:
        return "unknown"

"""The broker as a whole: which it is, how it is, and how much there is of it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from barnabas.broker.http.metrics.sources import Readings, Sources


def read_broker(sources: Sources, readings: Readings) -> None:
    """Add what is told of the broker as a whole."""
    services = sources.services
    topics = services.catalogue.topics
    partitions = sum(len(topic.partitions) for topic in topics.values())
    is_offline = services.partitions.directory.offline_reason is not None
    offline = partitions if is_offline else 0
    below_min = sum(not log.enough_replicas for log in services.partitions.open_logs())
    node = services.node
    readings.add("barnabas_info", 1, _version(), node.node_id, node.cluster_id)
    readings.add("kafka_server_kafkaserver_brokerstate", sources.state())
    readings.add("kafka_brokers", 1)
    readings.add("kafka_controller_kafkacontroller_activecontrollercount", 1)
    readings.add("kafka_controller_kafkacontroller_globaltopiccount", len(topics))
    readings.add("kafka_controller_kafkacontroller_globalpartitioncount", partitions)
    readings.add("kafka_controller_kafkacontroller_offlinepartitionscount", offline)
    readings.add("kafka_server_replicamanager_partitioncount", partitions)
    readings.add("kafka_server_replicamanager_leadercount", partitions - offline)
    readings.add("kafka_server_replicamanager_underreplicatedpartitions", 0)
    readings.add("kafka_server_replicamanager_underminisrpartitioncount", below_min)
    readings.add("kafka_server_replicamanager_offlinereplicacount", offline)
    readings.add("kafka_log_logmanager_offlinelogdirectorycount", int(is_offline))
    readings.add("kafka_server_socket_server_metrics_connection_count", sources.connections())


def _version() -> str:
    """Of the package; run from a source tree that was not installed, there is none."""
    try:
        return version("barnabas")
    except PackageNotFoundError:
        return "unknown"

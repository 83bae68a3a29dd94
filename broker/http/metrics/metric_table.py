"""Every metric of the broker: name, kind, labels, meaning. docs/metrics.md is generated from it; tests check the rest.

The rows of groups are in `group_metrics`.

A metric that a common exporter for Apache Kafka has, has that exporter's name here, so that dashboards and alerts work
unchanged: `JMX` is the Prometheus JMX exporter with its bundled rules, `lag` is kafka_exporter. Metrics that neither
has begin with `barnabas_`. prometheus-client adds those of the process and of Python.
"""

from __future__ import annotations

from barnabas.broker.http.metrics.group_metrics import OF_GROUPS
from barnabas.broker.http.metrics.metric import COUNTER, GAUGE, HISTOGRAM, JMX, LAG, OWN, Metric

PARTITIONS_MAX = 1_000
"""How many partitions have separate series."""
TOPICS_MAX = 500
"""How many topics have separate series."""
GROUPS_MAX = 500
"""How many groups have separate series."""
GROUP_PARTITIONS_MAX = 1_000
"""How many pairs of a group and a partition with a committed offset have separate series."""

SHARE_PARTITIONS_MAX = 1_000
"""How many share partitions have separate series."""

QUOTAS_MAX = 1_000
"""How many sharings of a quota have separate series."""

_PARTITION = ("topic", "partition")
_SHARED = ("resource", "user", "clientId", "node")


METRICS = (
    Metric("barnabas_info", GAUGE, ("version", "node_id", "cluster_id"), "Which broker this is; always 1.", OWN),
    Metric(
        "kafka_server_kafkaserver_brokerstate", GAUGE, (), "1 starting, 3 running, 6 stopping: Kafka's numbers.", JMX
    ),
    Metric("kafka_brokers", GAUGE, (), "Brokers of the cluster: nodes that run.", LAG),
    Metric("kafka_controller_kafkacontroller_activecontrollercount", GAUGE, (), "1: this node.", JMX),
    Metric("kafka_controller_kafkacontroller_globaltopiccount", GAUGE, (), "Topics, the broker's own too.", JMX),
    Metric("kafka_controller_kafkacontroller_globalpartitioncount", GAUGE, (), "Partitions of all topics.", JMX),
    Metric(
        "kafka_controller_kafkacontroller_offlinepartitionscount", GAUGE, (), "Partitions that cannot be used.", JMX
    ),
    Metric("kafka_server_replicamanager_partitioncount", GAUGE, (), "Partitions that can be used, of all nodes.", JMX),
    Metric("kafka_server_replicamanager_leadercount", GAUGE, (), "Partitions that are led, by any node.", JMX),
    Metric(
        "kafka_server_replicamanager_underreplicatedpartitions",
        GAUGE,
        (),
        "Partitions that are led with fewer replicas in sync than they have.",
        JMX,
    ),
    Metric(
        "kafka_server_replicamanager_underminisrpartitioncount",
        GAUGE,
        (),
        "Partitions used in this run with fewer replicas in sync than their min.insync.replicas in force.",
        JMX,
    ),
    Metric("kafka_server_replicamanager_offlinereplicacount", GAUGE, (), "Partitions that cannot be used.", JMX),
    Metric("kafka_log_logmanager_offlinelogdirectorycount", GAUGE, (), "How many data directories have failed.", JMX),
    Metric(
        "kafka_log_logmanager_remaininglogstorecover",
        GAUGE,
        ("dir",),
        "After a kill: partitions of the data directory that are to be recovered yet.",
        JMX,
    ),
    Metric(
        "kafka_log_logmanager_remainingsegmentstorecover",
        GAUGE,
        ("dir",),
        "Segments of the partitions that are being recovered now.",
        JMX,
    ),
    Metric("barnabas_partitions_refused", GAUGE, (), "Partitions that could not be opened: KAFKA_STORAGE_ERROR.", OWN),
    Metric("barnabas_helper_processes", GAUGE, (), "Processes that do long work outside the event loop.", OWN),
    Metric(
        "barnabas_helper_processes_resident_memory_bytes",
        GAUGE,
        (),
        "Memory of these processes, which process_resident_memory_bytes does not count.",
        OWN,
    ),
    Metric(
        "barnabas_data_directory_full",
        GAUGE,
        ("directory",),
        "1: there is no room in the data directory, and producers wait; 0: there is.",
        OWN,
    ),
    Metric(
        "barnabas_data_directory_usable_bytes",
        GAUGE,
        ("directory",),
        "Free bytes of the file system that the data directory is on, those that producers leave free included.",
        OWN,
    ),
    Metric(
        "barnabas_data_directory_total_bytes",
        GAUGE,
        ("directory",),
        "Bytes of the file system that the data directory is on.",
        OWN,
    ),
    Metric("kafka_server_socket_server_metrics_connection_count", GAUGE, (), "Connections of Kafka's protocol.", JMX),
    Metric(
        "kafka_server_socket_server_metrics_successful_authentication_total",
        COUNTER,
        ("listener",),
        "Connections that SASL authenticated.",
        JMX,
    ),
    Metric(
        "kafka_server_socket_server_metrics_failed_authentication_total",
        COUNTER,
        ("listener",),
        "Connections that SASL refused.",
        JMX,
    ),
    Metric(
        "kafka_server_socket_server_metrics_successful_reauthentication_total",
        COUNTER,
        ("listener",),
        "Sessions that were renewed by SASL.",
        JMX,
    ),
    Metric(
        "kafka_server_socket_server_metrics_failed_reauthentication_total",
        COUNTER,
        ("listener",),
        "Sessions that could not be renewed.",
        JMX,
    ),
    Metric(
        "kafka_server_socket_server_metrics_expired_connections_killed_total",
        COUNTER,
        ("listener",),
        "Connections closed because their session was over.",
        JMX,
    ),
    Metric(
        "barnabas_connections_muted",
        GAUGE,
        (),
        "Connections that are not served until their client's time is over. Only while there are quotas.",
        OWN,
    ),
    Metric(
        "kafka_server_quota_byte_rate",
        GAUGE,
        _SHARED,
        "Bytes a second that clients with one quota produce or fetch together. Only while there are quotas.",
        JMX,
    ),
    Metric(
        "kafka_server_quota_request_time",
        GAUGE,
        _SHARED,
        "Hundredths of the event loop's time that clients with one quota take. Only while there are quotas.",
        JMX,
    ),
    Metric(
        "kafka_server_quota_mutation_rate",
        GAUGE,
        _SHARED,
        "Partitions a second that clients with one quota create and delete. Only while there are quotas.",
        JMX,
    ),
    Metric(
        "kafka_server_quota_throttle_time",
        GAUGE,
        _SHARED,
        "Milliseconds that clients with one quota had to wait, on average over the last minute.",
        JMX,
    ),
    Metric("barnabas_node_running", GAUGE, ("node",), "1: the node runs; 0: it is stopped.", OWN),
    Metric("barnabas_node_leaders", GAUGE, ("node",), "Partitions that the node leads.", OWN),
    Metric("barnabas_node_replicas", GAUGE, ("node",), "Partitions that the node has a replica of.", OWN),
    Metric("barnabas_node_connections", GAUGE, ("node",), "Connections of Kafka's protocol to the node.", OWN),
    Metric(
        "kafka_network_requestmetrics_requests_total",
        COUNTER,
        ("request", "version"),
        "Requests that came.",
        JMX,
    ),
    Metric(
        "kafka_network_requestmetrics_errors_total",
        COUNTER,
        ("request", "error"),
        "Error codes in answers, at any place of an answer. Answers without an error code are not counted.",
        JMX,
    ),
    Metric(
        "kafka_network_requestmetrics_totaltimems",
        HISTOGRAM,
        ("request",),
        "Milliseconds from a request to its answer, what it waited for included. Of Produce and of Fetch, in each "
        "version, the first 1,000 are timed, and then one in 64.",
        JMX,
    ),
    Metric(
        "kafka_server_brokertopicmetrics_messagesin_total",
        COUNTER,
        ("topic",),
        "Records appended in this run, control records included; without a topic, of all there were.",
        JMX,
    ),
    Metric(
        "kafka_server_brokertopicmetrics_bytesin_total",
        COUNTER,
        ("topic",),
        "Bytes of batches appended in this run; without a topic, of all there were.",
        JMX,
    ),
    Metric(
        "kafka_server_brokertopicmetrics_bytesout_total",
        COUNTER,
        ("topic",),
        "Bytes of batches given to readers in this run; without a topic, of all there were.",
        JMX,
    ),
    Metric("kafka_topic_partitions", GAUGE, ("topic",), "Partitions of a topic.", LAG),
    Metric("kafka_topic_partition_current_offset", GAUGE, _PARTITION, "The next offset to be assigned.", LAG),
    Metric("kafka_topic_partition_oldest_offset", GAUGE, _PARTITION, "The first offset there is.", LAG),
    Metric("kafka_log_log_logendoffset", GAUGE, _PARTITION, "The next offset to be assigned.", JMX),
    Metric("kafka_log_log_logstartoffset", GAUGE, _PARTITION, "The first offset there is.", JMX),
    Metric("kafka_log_log_numlogsegments", GAUGE, _PARTITION, "Segments of the log.", JMX),
    Metric("kafka_log_log_size", GAUGE, _PARTITION, "Bytes of the segments, without their indexes.", JMX),
    Metric(
        "kafka_cluster_partition_laststableoffsetlag",
        GAUGE,
        _PARTITION,
        "How many offsets readers of committed records are held back by open transactions.",
        JMX,
    ),
    Metric(
        "kafka_log_logcleaner_max_buffer_utilization_percent",
        GAUGE,
        (),
        "How full log.cleaner.dedupe.buffer.size was in the last cleaning.",
        JMX,
    ),
    Metric(
        "kafka_log_logcleaner_cleaner_recopy_percent",
        GAUGE,
        (),
        "The size of the last cleaned log in percent of its size before.",
        JMX,
    ),
    Metric("kafka_log_logcleaner_max_clean_time_secs", GAUGE, (), "How long the last cleaning took.", JMX),
    Metric(
        "kafka_log_logcleaner_max_compaction_delay_secs",
        GAUGE,
        (),
        "By how much a log is over max.compaction.lag.ms, the largest of all.",
        JMX,
    ),
    Metric("kafka_log_logcleaner_deadthreadcount", GAUGE, (), "0: a process that dies is replaced.", JMX),
    Metric("kafka_log_logcleanermanager_max_dirty_percent", GAUGE, (), "How dirty the dirtiest log is.", JMX),
    Metric(
        "kafka_log_logcleanermanager_time_since_last_run_ms",
        GAUGE,
        (),
        "The time since the cleaner last checked the logs; 0 before its first check.",
        JMX,
    ),
    Metric(
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
        GAUGE,
        ("logDirectory",),
        "Partitions whose cleaning failed: they are set aside until the next start.",
        JMX,
    ),
    Metric("kafka_log_logcleanermanager_uncleanable_bytes", GAUGE, ("logDirectory",), "Their size.", JMX),
    Metric("barnabas_log_cleanings_total", COUNTER, (), "Cleanings that ended well in this run.", OWN),
    Metric("barnabas_log_cleaned_bytes_total", COUNTER, (), "By how many bytes they shortened logs.", OWN),
    Metric("barnabas_log_cleanings_under_way", GAUGE, (), "Logs that are being cleaned now.", OWN),
    *OF_GROUPS,
    Metric("barnabas_transactions", GAUGE, ("state",), "Transactional ids by the state of their transaction.", OWN),
    Metric("barnabas_transactions_open", GAUGE, (), "Transactions that are open, or ended and not complete.", OWN),
    Metric(
        "barnabas_transactions_oldest_open_seconds", GAUGE, (), "How long the oldest of them is open; 0: none.", OWN
    ),
    Metric("barnabas_transactions_completed_total", COUNTER, ("result",), "Transactions completed in this run.", OWN),
    Metric("barnabas_transactions_timed_out_total", COUNTER, (), "Those aborted for their timeout.", OWN),
    Metric(
        "barnabas_authorizations_total",
        COUNTER,
        ("result",),
        "With an authorizer: the operations that it checked, and `allowed`, or `denied`.",
        OWN,
    ),
    Metric("barnabas_acls", GAUGE, (), "With an authorizer: how many ACLs there are.", OWN),
    Metric(
        "barnabas_producers_fenced_total",
        COUNTER,
        (),
        "Requests refused because another producer has the id now: PRODUCER_FENCED, INVALID_PRODUCER_EPOCH.",
        OWN,
    ),
    Metric(
        "kafka_schema_registry_registered_count",
        GAUGE,
        (),
        "With a schema registry: versions that were registered in this run, or read at its start.",
        JMX,
    ),
    Metric("kafka_schema_registry_deleted_count", GAUGE, (), "Likewise, versions that were marked as deleted.", JMX),
    Metric("kafka_schema_registry_schemas_created", GAUGE, ("schema_type",), "The registered ones by type.", JMX),
    Metric("kafka_schema_registry_schemas_deleted", GAUGE, ("schema_type",), "The deleted ones by type.", JMX),
    Metric("kafka_schema_registry_api_success_count", GAUGE, (), "Its requests that were answered with success.", JMX),
    Metric("kafka_schema_registry_api_failure_count", GAUGE, (), "Its requests that were refused, or failed.", JMX),
    Metric("barnabas_registry_requests_total", COUNTER, ("status",), "Its requests by status.", OWN),
    Metric("barnabas_registry_subjects", GAUGE, (), "Its subjects, deleted ones too.", OWN),
    Metric(
        "barnabas_metrics_left_out",
        GAUGE,
        ("what",),
        "Partitions, topics, groups and share partitions that have no series of their own, since there are too many; "
        "values that clients pushed and that were not stored; clients whose use of a quota has no series.",
        OWN,
    ),
)

BY_NAME = {metric.name: metric for metric in METRICS}

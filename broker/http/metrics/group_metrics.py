"""The rows of the table of metrics about groups of all types, share partitions and the coordinators of both."""

from __future__ import annotations

from barnabas.broker.http.metrics.metric import COUNTER, GAUGE, JMX, LAG, OWN, Metric

_SHARE_PARTITION = ("group", "topic", "partition")
_COMMITTED = ("consumergroup", "topic", "partition")

OF_GROUPS = (
    Metric("kafka_consumergroup_members", GAUGE, ("consumergroup",), "Members of a group.", LAG),
    Metric("kafka_consumergroup_current_offset", GAUGE, _COMMITTED, "What a group committed for a partition.", LAG),
    Metric("kafka_consumergroup_lag", GAUGE, _COMMITTED, "The partition's end less what the group committed.", LAG),
    Metric(
        "kafka_consumergroup_lag_sum", GAUGE, ("consumergroup", "topic"), "That over all partitions of a topic.", LAG
    ),
    Metric(
        "barnabas_consumergroup_lag_committed",
        GAUGE,
        _COMMITTED,
        "As kafka_consumergroup_lag, to where a reader of committed records can get; as far as the other until the "
        "partition is used for the first time in a run.",
        OWN,
    ),
    Metric("kafka_coordinator_group_groupmetadatamanager_numgroups", GAUGE, (), "Groups of the classic protocol.", JMX),
    Metric("kafka_coordinator_group_groupmetadatamanager_numgroupsempty", GAUGE, (), "Those without members.", JMX),
    Metric("kafka_coordinator_group_groupmetadatamanager_numgroupsstable", GAUGE, (), "Those at work.", JMX),
    Metric(
        "kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance",
        GAUGE,
        (),
        "Those that wait for their members to join.",
        JMX,
    ),
    Metric(
        "kafka_coordinator_group_groupmetadatamanager_numgroupscompletingrebalance",
        GAUGE,
        (),
        "Those that wait for their leader's assignment.",
        JMX,
    ),
    Metric("kafka_coordinator_group_groupmetadatamanager_numgroupsdead", GAUGE, (), "0: they are forgotten.", JMX),
    Metric(
        "kafka_server_group_coordinator_metrics_classic_group_count",
        GAUGE,
        ("state",),
        "Groups of the classic protocol, by state.",
        JMX,
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_consumer_group_count",
        GAUGE,
        ("state",),
        "Groups of the consumer protocol, by state.",
        JMX,
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_share_group_count", GAUGE, ("state",), "Share groups, by state.", JMX
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_streams_group_count",
        GAUGE,
        ("state",),
        "Streams groups, by state.",
        JMX,
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_group_count",
        GAUGE,
        ("protocol",),
        "Groups by protocol: classic, consumer, share, streams.",
        JMX,
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count",
        GAUGE,
        (),
        "Group epochs of consumer groups that began in this run.",
        JMX,
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_share_group_rebalance_count",
        GAUGE,
        (),
        "Those of share groups.",
        JMX,
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_streams_group_rebalance_count",
        GAUGE,
        (),
        "Those of streams groups.",
        JMX,
    ),
    Metric(
        "kafka_server_group_coordinator_metrics_num_partitions",
        GAUGE,
        ("state",),
        "Partitions of __consumer_offsets in use: active, loading, failed.",
        JMX,
    ),
    Metric(
        "kafka_server_share_coordinator_metrics_num_partitions",
        GAUGE,
        ("state",),
        "Partitions of __share_group_state in use: active, loading, failed.",
        JMX,
    ),
    Metric(
        "kafka_server_share_coordinator_metrics_write_total",
        COUNTER,
        (),
        "Changes of share partitions that were stored in this run.",
        JMX,
    ),
    Metric(
        "kafka_server_sharegroupmetrics_recordacknowledgements_total",
        COUNTER,
        ("ackType",),
        "Records of share groups that members acknowledged: Accept, Release, Reject, Renew.",
        JMX,
    ),
    Metric("kafka_server_sharesessioncache_sharesessionscount", GAUGE, (), "Open share sessions.", JMX),
    Metric("kafka_server_sharesessioncache_sharepartitionscount", GAUGE, (), "Partitions in share sessions.", JMX),
    Metric(
        "kafka_server_sharepartitionmetrics_inflightmessagecount",
        GAUGE,
        _SHARE_PARTITION,
        "Offsets from the start of a share partition to the end of what was acquired, finished ones included.",
        JMX,
    ),
    Metric(
        "kafka_server_sharepartitionmetrics_inflightbatchcount",
        GAUGE,
        _SHARE_PARTITION,
        "Batches in which they were acquired.",
        JMX,
    ),
    Metric(
        "kafka_server_sharepartitionmetrics_acquisitionlocktimeout_total",
        COUNTER,
        _SHARE_PARTITION,
        "Records that were not acknowledged in time, since the share partition was loaded.",
        JMX,
    ),
    Metric(
        "kafka_server_sharegroupmetrics_deadletterqueuerecordcount",
        GAUGE,
        ("group",),
        "Records of a share group that were written to its dead-letter topic, since the start.",
        JMX,
    ),
    Metric(
        "kafka_server_sharegroupmetrics_deadletterqueuetotalproducerequests_total",
        COUNTER,
        ("group",),
        "Appends of dead letters, of one batch each, also those that failed.",
        JMX,
    ),
    Metric(
        "kafka_server_sharegroupmetrics_deadletterqueuefailedproducerequests_total",
        COUNTER,
        ("group",),
        "Those that failed. They may have been tried again.",
        JMX,
    ),
    Metric(
        "barnabas_share_dead_letters_lost_total",
        COUNTER,
        ("group",),
        "Records of a share group that could not be written to its dead-letter topic.",
        OWN,
    ),
    Metric(
        "barnabas_share_partition_acquired",
        GAUGE,
        _SHARE_PARTITION,
        "Records of a share partition that members hold now.",
        OWN,
    ),
    Metric(
        "barnabas_share_partition_lag",
        GAUGE,
        _SHARE_PARTITION,
        "Records of a share partition that are not finished, to the high watermark.",
        OWN,
    ),
    Metric(
        "barnabas_share_records_archived_total",
        COUNTER,
        ("reason",),
        "Records that will not be delivered again, though no member accepted them: `rejected`, or `limit`, after the "
        "last delivery.",
        OWN,
    ),
)

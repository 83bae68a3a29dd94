"""Where the Java AdminClient hears something else from Barnabas than from Apache Kafka 4.4.0, and why.

A line of the table is a pattern of `method | what was asked | where in the answer`, and the reason. A pattern that no
difference needs any more is to be deleted: the test says so.
"""

import re

LOGGERS = "the loggers of a Java program are not here to be described or set"
MIN_INSYNC = "Kafka formats a directory with min.insync.replicas as a setting of all brokers (decision 0030)"
ITS_OWN = "where each broker listens and keeps its data, which its process is told"
ONE_NODE = "the default is one for a single node (docs/config.md)"
IN_FLIGHT = "what peers may make a broker hold is bounded (decision 0036)"
WORDS = "Kafka gives the code without a message, Barnabas with one"
VERSIONS = "metadata.version and the other features are those of what there is here (decision 0030)"
QUORUM = "no listener is opened for controllers, and nothing is written at intervals"


def _broker(*keys: str) -> str:
    """The pattern of settings of the broker."""
    names = "|".join(map(re.escape, keys))
    return rf"describeConfigs \| .*ConfigResource\(type=BROKER, name='1'\) \| .*\)\.({names})"


KNOWN: dict[str, str] = {
    r"incrementalAlterConfigs \| a level of ConfigResource\(type=BROKER_LOGGER, name='1'\) \| .*": LOGGERS,
    r"(createTopics|describeConfigs) \| .* \| .*\.?min\.insync\.replicas": MIN_INSYNC,
    _broker("advertised.listeners", "controller.quorum.bootstrap.servers", "listeners", "log.dir"): ITS_OWN,
    _broker(
        "broker.id",
        "controller.listener.names",
        "group.initial.rebalance.delay.ms",
        "node.id",
        "offsets.topic.replication.factor",
        "process.roles",
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.replication.factor",
        "transaction.state.log.min.isr",
        "transaction.state.log.replication.factor",
    ): ONE_NODE,
    _broker("queued.max.request.bytes"): IN_FLIGHT,
    _broker(
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ): "Kafka has no words for them, and Barnabas says that they change nothing",
    _broker(
        "barnabas.client.telemetry.enable",
        "barnabas.history.events.max",
        "barnabas.log.dir.reserved.bytes",
    ): "settings that only Barnabas has",
    r"createPartitions \| .* \| values\.absent": WORDS,
    r"describeConfigs \| of ConfigResource\(type=TOPIC, name='absent'\) \| .*": WORDS,
    r"describeFeatures \| .* \| featureMetadata": VERSIONS,
    r"describeFeatures \| .* \| nodeApiVersions": "docs/apis.md lists the APIs that are not offered",
    r"describeMetadataQuorum \| .*": QUORUM,
}

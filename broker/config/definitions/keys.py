"""The broker's configuration keys that have an effect here, under Kafka's names, and two of our own: one row each.

A row has the key's type, default and allowed values, and how it may change at run time. The description of each key is
in `reference/descriptions.py`, which is imported only on demand; the keys of Apache Kafka that are known but have no
effect here are in `ignored_keys.py`. Types, ranges and update modes are Kafka 4.4.0's, and so are the defaults, except
for those that docs/config.md explains.
"""

from enum import Enum
from typing import NamedTuple

from barnabas.broker.config.definitions.values import Check, OneOf, Range, ValueType


class Update(Enum):
    """How a key may change at run time, in the terms of `kafka-configs.sh`."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Key(NamedTuple):
    """One configuration key. `default` is text as in server.properties, None without a default."""

    name: str
    type: ValueType
    default: str | None
    check: Check = None
    update: Update = Update.READ_ONLY

    @property
    def is_sensitive(self) -> bool:
        return self.type == ValueType.PASSWORD


BOOLEAN, STRING, INT, SHORT = ValueType.BOOLEAN, ValueType.STRING, ValueType.INT, ValueType.SHORT
LONG, DOUBLE, LIST, PASSWORD = ValueType.LONG, ValueType.DOUBLE, ValueType.LIST, ValueType.PASSWORD
CLASS = ValueType.CLASS
PER_BROKER, CLUSTER_WIDE = Update.PER_BROKER, Update.CLUSTER_WIDE

_TABLE = (
    # identity, listeners and directories of the node
    Key("node.id", INT, "1", Range(0)),
    Key("broker.id", INT, "1"),
    Key("broker.rack", STRING, None),
    Key("listeners", LIST, "PLAINTEXT://127.0.0.1:9092", None, PER_BROKER),
    Key("advertised.listeners", LIST, None),
    Key(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        None,
        PER_BROKER,
    ),
    Key("controller.listener.names", LIST, ""),
    Key("inter.broker.listener.name", STRING, None),
    Key("log.dir", LIST, "data"),
    Key("log.dirs", LIST, None),
    Key("metadata.log.dir", STRING, None),
    # configuration providers
    Key("config.providers", LIST, "", None, CLUSTER_WIDE),
    # TLS, of one listener with the prefix listener.name.NAME.
    Key("ssl.allow.dn.changes", BOOLEAN, "false"),
    Key("ssl.allow.san.changes", BOOLEAN, "false"),
    Key("ssl.cipher.suites", LIST, "", None, PER_BROKER),
    Key("ssl.client.auth", STRING, "none", OneOf(("required", "requested", "none")), PER_BROKER),
    Key("ssl.enabled.protocols", LIST, "TLSv1.2,TLSv1.3", None, PER_BROKER),
    Key("ssl.key.password", PASSWORD, None, None, PER_BROKER),
    Key("ssl.keystore.certificate.chain", PASSWORD, None, None, PER_BROKER),
    Key("ssl.keystore.key", PASSWORD, None, None, PER_BROKER),
    Key("ssl.keystore.location", STRING, None, None, PER_BROKER),
    Key("ssl.keystore.password", PASSWORD, None, None, PER_BROKER),
    Key("ssl.keystore.type", STRING, "JKS", None, PER_BROKER),
    Key("ssl.principal.mapping.rules", STRING, "DEFAULT"),
    Key("ssl.truststore.certificates", PASSWORD, None, None, PER_BROKER),
    Key("ssl.truststore.location", STRING, None, None, PER_BROKER),
    Key("ssl.truststore.password", PASSWORD, None, None, PER_BROKER),
    Key("ssl.truststore.type", STRING, "JKS", None, PER_BROKER),
    # connections and requests
    Key("socket.request.max.bytes", INT, "104857600", Range(1)),
    Key("queued.max.request.bytes", LONG, "67108864"),
    Key("connections.max.idle.ms", LONG, "600000"),
    Key("max.connections", INT, "2147483647", Range(0), CLUSTER_WIDE),
    Key("max.connections.per.ip", INT, "2147483647", Range(0), CLUSTER_WIDE),
    Key("max.connections.per.ip.overrides", STRING, "", None, CLUSTER_WIDE),
    Key("max.connection.creation.rate", INT, "2147483647", Range(0), CLUSTER_WIDE),
    Key("fetch.max.bytes", INT, "57671680", Range(1024)),
    Key("max.incremental.fetch.session.cache.slots", INT, "1000", Range(0)),
    Key("max.request.partition.size.limit", INT, "2000", Range(1)),
    Key("telemetry.max.bytes", INT, "1048576", Range(1)),
    # authentication
    Key("sasl.enabled.mechanisms", LIST, "GSSAPI", None, PER_BROKER),
    Key("sasl.jaas.config", PASSWORD, None, None, PER_BROKER),
    Key("sasl.oauthbearer.allow.unverified.audience", BOOLEAN, "false"),
    Key("sasl.oauthbearer.allow.unverified.issuer", BOOLEAN, "false"),
    Key("sasl.oauthbearer.clock.skew.seconds", INT, "30"),
    Key("sasl.oauthbearer.expected.audience", LIST, ""),
    Key("sasl.oauthbearer.expected.issuer", STRING, None),
    Key("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, "3600000"),
    Key("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, "10000"),
    Key("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, "100"),
    Key("sasl.oauthbearer.jwks.endpoint.url", STRING, None),
    Key(
        "sasl.oauthbearer.jwt.validator.class",
        CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    ),
    Key("sasl.oauthbearer.scope.claim.name", STRING, "scope"),
    Key("sasl.oauthbearer.sub.claim.name", STRING, "sub"),
    Key("sasl.server.callback.handler.class", CLASS, None),
    Key("sasl.server.max.receive.size", INT, "524288"),
    Key("connection.failed.authentication.delay.ms", INT, "100", Range(0)),
    Key("connections.max.reauth.ms", LONG, "0"),
    # quotas
    Key("quota.window.num", INT, "11", Range(1)),
    Key("quota.window.size.seconds", INT, "1", Range(1)),
    Key("controller.quota.window.num", INT, "11", Range(1)),
    Key("controller.quota.window.size.seconds", INT, "1", Range(1)),
    # authorization
    Key("authorizer.class.name", STRING, ""),
    # topics
    Key("auto.create.topics.enable", BOOLEAN, "true"),
    Key("errors.deadletterqueue.auto.create.topics.enable", BOOLEAN, "false", None, CLUSTER_WIDE),
    Key("errors.deadletterqueue.topic.name.prefix", STRING, "dlq.", None, CLUSTER_WIDE),
    Key("delete.topic.enable", BOOLEAN, "true"),
    Key("num.partitions", INT, "1", Range(1)),
    Key("default.replication.factor", INT, "1"),
    # defaults of topics
    Key(
        "compression.type",
        STRING,
        "producer",
        OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
        CLUSTER_WIDE,
    ),
    Key("compression.gzip.level", INT, "-1", Range(1, 9, or_else=-1), CLUSTER_WIDE),
    Key("compression.lz4.level", INT, "9", Range(1, 17), CLUSTER_WIDE),
    Key("compression.zstd.level", INT, "3", Range(-131072, 22), CLUSTER_WIDE),
    Key("log.cleanup.policy", LIST, "delete", OneOf(("compact", "delete")), CLUSTER_WIDE),
    Key("log.segment.bytes", INT, "1073741824", Range(1048576), CLUSTER_WIDE),
    Key("log.roll.ms", LONG, None, None, CLUSTER_WIDE),
    Key("log.roll.hours", INT, "168", Range(1)),
    Key("log.roll.jitter.ms", LONG, None, None, CLUSTER_WIDE),
    Key("log.roll.jitter.hours", INT, "0", Range(0)),
    Key("log.index.size.max.bytes", INT, "10485760", Range(4), CLUSTER_WIDE),
    Key("log.index.interval.bytes", INT, "4096", Range(0), CLUSTER_WIDE),
    Key("log.retention.bytes", LONG, "-1", None, CLUSTER_WIDE),
    Key("log.retention.ms", LONG, None, None, CLUSTER_WIDE),
    Key("log.retention.minutes", INT, None),
    Key("log.retention.hours", INT, "168"),
    Key("log.local.retention.bytes", LONG, "-2", Range(-2), CLUSTER_WIDE),
    Key("log.local.retention.ms", LONG, "-2", Range(-2), CLUSTER_WIDE),
    Key("log.remote.copy.lag.bytes", LONG, "-1", Range(-1), CLUSTER_WIDE),
    Key("log.remote.copy.lag.ms", LONG, "0", Range(-1), CLUSTER_WIDE),
    Key("log.flush.interval.messages", LONG, "9223372036854775807", Range(1), CLUSTER_WIDE),
    Key("log.flush.interval.ms", LONG, None, None, CLUSTER_WIDE),
    Key("log.flush.scheduler.interval.ms", LONG, "9223372036854775807"),
    Key("log.segment.delete.delay.ms", LONG, "60000", Range(0), CLUSTER_WIDE),
    Key("log.preallocate", BOOLEAN, "false", None, CLUSTER_WIDE),
    Key("log.message.timestamp.type", STRING, "CreateTime", OneOf(("CreateTime", "LogAppendTime")), CLUSTER_WIDE),
    Key("log.message.timestamp.before.max.ms", LONG, "9223372036854775807", Range(0), CLUSTER_WIDE),
    Key("log.message.timestamp.after.max.ms", LONG, "3600000", Range(0), CLUSTER_WIDE),
    Key("log.cleaner.delete.retention.ms", LONG, "86400000", Range(0), CLUSTER_WIDE),
    Key("log.cleaner.min.compaction.lag.ms", LONG, "0", Range(0), CLUSTER_WIDE),
    Key("log.cleaner.max.compaction.lag.ms", LONG, "9223372036854775807", Range(1), CLUSTER_WIDE),
    Key("log.cleaner.min.cleanable.ratio", DOUBLE, "0.5", Range(0, 1), CLUSTER_WIDE),
    Key("message.max.bytes", INT, "1048588", Range(0), CLUSTER_WIDE),
    Key("max.decompressed.message.bytes", INT, "2147483639", Range(1, 2147483639), CLUSTER_WIDE),
    Key("min.insync.replicas", INT, "1", Range(1), CLUSTER_WIDE),
    Key("unclean.leader.election.enable", BOOLEAN, "false", None, CLUSTER_WIDE),
    # leaders of several nodes
    Key("auto.leader.rebalance.enable", BOOLEAN, "true"),
    Key("leader.imbalance.check.interval.seconds", LONG, "300", Range(1)),
    # compaction
    Key("log.cleaner.backoff.ms", LONG, "15000", Range(0), CLUSTER_WIDE),
    Key("log.cleaner.dedupe.buffer.size", LONG, "134217728", None, CLUSTER_WIDE),
    Key("log.cleaner.enable", BOOLEAN, "true"),
    Key("log.cleaner.io.buffer.load.factor", DOUBLE, "0.9", None, CLUSTER_WIDE),
    Key("log.cleaner.io.buffer.size", INT, "524288", Range(0), CLUSTER_WIDE),
    Key("log.cleaner.io.max.bytes.per.second", DOUBLE, "1.7976931348623157E308", None, CLUSTER_WIDE),
    Key("log.cleaner.threads", INT, "1", Range(0), CLUSTER_WIDE),
    # storage
    Key("metadata.log.max.record.bytes.between.snapshots", LONG, "20971520", Range(1)),
    Key("log.retention.check.interval.ms", LONG, "300000", Range(1)),
    Key("num.recovery.threads.per.data.dir", INT, "2", Range(1), CLUSTER_WIDE),
    Key("log.flush.offset.checkpoint.interval.ms", INT, "60000", Range(0)),
    Key("log.flush.start.offset.checkpoint.interval.ms", INT, "60000", Range(0)),
    Key("replica.high.watermark.checkpoint.interval.ms", LONG, "5000"),
    Key("replica.selector.class", STRING, None),
    Key("producer.id.expiration.check.interval.ms", INT, "600000", Range(1)),
    Key("producer.id.expiration.ms", INT, "86400000", Range(1), CLUSTER_WIDE),
    # delegation tokens
    Key("delegation.token.expiry.check.interval.ms", LONG, "3600000", Range(1)),
    Key("delegation.token.expiry.time.ms", LONG, "86400000", Range(1)),
    Key("delegation.token.max.lifetime.ms", LONG, "604800000", Range(1)),
    Key("delegation.token.secret.key", PASSWORD, None),
    # transactions
    Key("add.partitions.to.txn.retry.backoff.max.ms", INT, "100", Range(0)),
    Key("add.partitions.to.txn.retry.backoff.ms", INT, "20", Range(1)),
    Key("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, "10000", Range(1)),
    Key("transaction.max.timeout.ms", INT, "900000", Range(1)),
    Key("transaction.partition.verification.enable", BOOLEAN, "true", None, CLUSTER_WIDE),
    Key("transaction.remove.expired.transaction.cleanup.interval.ms", INT, "3600000", Range(1)),
    Key("transaction.state.log.min.isr", INT, "1", Range(1)),
    Key("transaction.state.log.num.partitions", INT, "50", Range(1)),
    Key("transaction.state.log.segment.bytes", INT, "104857600", Range(1)),
    Key("transaction.two.phase.commit.enable", BOOLEAN, "false"),
    Key("transactional.id.expiration.ms", INT, "604800000", Range(1)),
    # groups
    Key("group.min.session.timeout.ms", INT, "6000"),
    Key("group.max.session.timeout.ms", INT, "1800000"),
    Key("group.initial.rebalance.delay.ms", INT, "0"),
    Key("group.max.size", INT, "2147483647", Range(1)),
    Key(
        "group.coordinator.rebalance.protocols",
        LIST,
        "classic,consumer,streams",
        OneOf(("consumer", "classic", "share", "streams")),
    ),
    Key("group.consumer.assignment.interval.ms", INT, "1000", Range(0), CLUSTER_WIDE),
    Key("group.consumer.assignors", LIST, "uniform,range", OneOf(("uniform", "range"))),
    Key("group.consumer.heartbeat.interval.ms", INT, "5000", Range(1)),
    Key("group.consumer.max.size", INT, "2147483647", Range(1)),
    Key("group.consumer.session.timeout.ms", INT, "45000", Range(1)),
    Key("group.consumer.max.assignment.interval.ms", INT, "15000", Range(0)),
    Key(
        "group.consumer.migration.policy",
        STRING,
        "bidirectional",
        OneOf(("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"), ignore_case=True),
    ),
    Key("group.consumer.max.heartbeat.interval.ms", INT, "15000", Range(1)),
    Key("group.consumer.max.session.timeout.ms", INT, "60000", Range(1)),
    Key("group.consumer.min.assignment.interval.ms", INT, "0", Range(0)),
    Key("group.consumer.min.heartbeat.interval.ms", INT, "5000", Range(1)),
    Key("group.consumer.min.session.timeout.ms", INT, "45000", Range(1)),
    Key("offset.metadata.max.bytes", INT, "4096"),
    Key("offsets.commit.timeout.ms", INT, "5000", Range(1)),
    Key("offsets.retention.minutes", INT, "10080", Range(1)),
    Key("offsets.retention.check.interval.ms", LONG, "600000", Range(1)),
    Key("offsets.topic.compression.codec", INT, "0"),
    Key("offsets.topic.num.partitions", INT, "50", Range(1)),
    Key("offsets.topic.segment.bytes", INT, "104857600", Range(1)),
    # share groups
    Key("group.share.assignment.interval.ms", INT, "1000", Range(0), CLUSTER_WIDE),
    Key("group.share.assignors", LIST, "simple", OneOf(("simple",))),
    Key("group.share.delivery.count.limit", INT, "5", Range(2, 10)),
    Key("group.share.heartbeat.interval.ms", INT, "5000", Range(1)),
    Key("group.share.max.assignment.interval.ms", INT, "15000", Range(0)),
    Key("group.share.max.delivery.count.limit", INT, "10", Range(5, 25)),
    Key("group.share.max.heartbeat.interval.ms", INT, "15000", Range(1)),
    Key("group.share.max.partition.max.record.locks", INT, "4000", Range(2000, 10000)),
    Key("group.share.max.record.lock.duration.ms", INT, "60000", Range(30000, 3600000)),
    Key("group.share.max.session.timeout.ms", INT, "60000", Range(1)),
    Key("group.share.max.share.sessions", INT, "2000", Range(1)),
    Key("group.share.max.size", INT, "200", Range(1, 1000)),
    Key("group.share.min.assignment.interval.ms", INT, "0", Range(0)),
    Key("group.share.min.delivery.count.limit", INT, "2", Range(2, 5)),
    Key("group.share.min.heartbeat.interval.ms", INT, "5000", Range(1)),
    Key("group.share.min.partition.max.record.locks", INT, "100", Range(100, 2000)),
    Key("group.share.min.record.lock.duration.ms", INT, "15000", Range(1000, 30000)),
    Key("group.share.min.session.timeout.ms", INT, "45000", Range(1)),
    Key("group.share.partition.max.record.locks", INT, "2000", Range(100, 10000)),
    Key("group.share.record.lock.duration.ms", INT, "30000", Range(1000, 3600000)),
    Key("group.share.session.timeout.ms", INT, "45000", Range(1)),
    Key("share.coordinator.snapshot.update.records.per.snapshot", INT, "500", Range(0, 500)),
    Key("share.coordinator.state.topic.compression.codec", INT, "0"),
    Key("share.coordinator.state.topic.min.isr", SHORT, "1", Range(1)),
    Key("share.coordinator.state.topic.num.partitions", INT, "50", Range(1)),
    Key("share.coordinator.state.topic.segment.bytes", INT, "104857600", Range(1)),
    Key("share.coordinator.write.timeout.ms", INT, "5000", Range(1)),
    # streams groups
    Key("group.streams.assignment.interval.ms", INT, "1000", Range(0), CLUSTER_WIDE),
    Key("group.streams.assignors", LIST, "sticky", OneOf(("sticky",))),
    Key("group.streams.heartbeat.interval.ms", INT, "5000", Range(1)),
    Key("group.streams.initial.rebalance.delay.ms", INT, "3000", Range(0)),
    Key("group.streams.max.assignment.interval.ms", INT, "15000", Range(0)),
    Key("group.streams.max.heartbeat.interval.ms", INT, "15000", Range(1)),
    Key("group.streams.max.session.timeout.ms", INT, "60000", Range(1)),
    Key("group.streams.max.size", INT, "2147483647", Range(1)),
    Key("group.streams.max.standby.replicas", INT, "2", Range(0)),
    Key("group.streams.min.assignment.interval.ms", INT, "0", Range(0)),
    Key("group.streams.min.heartbeat.interval.ms", INT, "5000", Range(1)),
    Key("group.streams.min.session.timeout.ms", INT, "45000", Range(1)),
    Key("group.streams.num.standby.replicas", INT, "0", Range(0)),
    Key("group.streams.rack.aware.assignment.tags", LIST, ""),
    Key("group.streams.session.timeout.ms", INT, "45000", Range(1)),
)

OWN = (
    Key("barnabas.client.telemetry.enable", BOOLEAN, "false"),
    Key("barnabas.history.events.max", INT, "10000", Range(1, 1_000_000)),
    Key("barnabas.log.dir.reserved.bytes", LONG, str(64 << 20), Range(0)),
)
"""Keys that Kafka does not have. Their names begin with `barnabas.`."""

OF_AUTHORIZER = (
    Key("super.users", STRING, None),
    Key("allow.everyone.if.no.acl.found", BOOLEAN, "false"),
)
"""Keys of Kafka's authorizer, not of its broker: described only if they were given a value."""

KEYS = {key.name: key for key in (*_TABLE, *OF_AUTHORIZER, *OWN)}

"""Every option of the sink and the sources: its name, its default, and what it does.

The single source of the known options: `options` refuses any other, and docs/pipeline.md's table is generated from
it. Names are Spark's and its stock connector's; those with `kafka.` in front are Kafka's.
"""

from __future__ import annotations

from typing import NamedTuple


class Option(NamedTuple):
    """A row of the table. `default` as people read it; "" if there is none, and the option may be omitted."""

    name: str
    default: str
    meaning: str


CONNECTION = (
    Option("kafka.bootstrap.servers", "required", "host:port of brokers, several separated by commas"),
    Option("kafka.client.id", "barnabas-spark", "the name that brokers see"),
    Option("kafka.request.timeout.ms", "30000", "the time limit of one call to a broker, with its retries"),
)

# As a Java client's properties have them: barnabas.client.security.properties reads them.
SECURITY = (
    Option("kafka.security.protocol", "PLAINTEXT", "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    Option("kafka.ssl.truststore.location", "", "trusted authorities: a file, on the driver and executors"),
    Option("kafka.ssl.truststore.password", "", "its password"),
    Option("kafka.ssl.truststore.type", "JKS", "JKS, PKCS12, PEM"),
    Option("kafka.ssl.truststore.certificates", "", "the same in PEM, as the value of the option"),
    Option("kafka.ssl.keystore.location", "", "the client's certificate and key: a file, on the driver and executors"),
    Option("kafka.ssl.keystore.password", "", "its password"),
    Option("kafka.ssl.keystore.type", "JKS", "JKS, PKCS12, PEM"),
    Option("kafka.ssl.keystore.certificate.chain", "", "the certificate in PEM, as the value of the option"),
    Option("kafka.ssl.keystore.key", "", "the key in PEM, as the value of the option"),
    Option("kafka.ssl.key.password", "", "the password of the key"),
    Option("kafka.ssl.endpoint.identification.algorithm", "https", "empty: the name in a certificate is not checked"),
    Option("kafka.ssl.enabled.protocols", "TLSv1.2,TLSv1.3", "the allowed versions of TLS"),
    Option("kafka.ssl.cipher.suites", "", "cipher suites, by Java's names"),
    Option("kafka.sasl.mechanism", "", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
    Option("kafka.sasl.jaas.config", "", "Kafka's login module, with user and password"),
    Option(
        "kafka.sasl.oauthbearer.token.provider", "", "`module:callable` that executors can import, which returns tokens"
    ),
    Option("kafka.sasl.oauthbearer.token.endpoint.url", "", "the authorization server that issues tokens"),
    Option("kafka.sasl.oauthbearer.client.credentials.client.id", "", "the client id for that server"),
    Option("kafka.sasl.oauthbearer.client.credentials.client.secret", "", "the client secret"),
    Option("kafka.sasl.oauthbearer.scope", "", "the requested scope"),
    Option("kafka.sasl.login.callback.handler.class", "", "Kafka's handler for a token endpoint; no other Java class"),
)

SINK = (
    Option("topic", "", "the topic for all rows; if it is not set, a column `topic` names the topic of each row"),
    Option("checkpointLocation", "required", "Spark's: the directory for a stream's progress; not for `write`"),
    Option(
        "transactionalIdPrefix",
        "see above",
        "the prefix of the names of all transactions and of the ledger. Two queries must not share one",
    ),
    Option(
        "kafka.transaction.timeout.ms",
        "the broker's limit",
        "how long a transaction may stay open; more than `transaction.max.timeout.ms` is refused",
    ),
    Option(
        "twoPhaseCommit",
        "auto",
        "`on`: transactions without timeout (KIP-939), an error if the broker has none; `auto`: if the broker has "
        "them; `off`: never",
    ),
    Option(
        "createTopics",
        "true",
        "`false`: a missing topic is an error, and is not created, except the ledger's",
    ),
    Option(
        "newTopicPartitions",
        "the broker's num.partitions",
        "the number of partitions of a created topic. Without it a topic is created only if the broker creates "
        "topics by itself (auto.create.topics.enable)",
    ),
    Option("kafka.compression.type", "none", "none, gzip, snappy, lz4, zstd"),
    Option(
        "kafka.batch.size", "524288", "the maximum size of a batch of records in bytes, unless one record is larger"
    ),
    Option("kafka.max.request.size", "1048576", "the maximum size of a record with its batch header"),
    Option("kafka.delivery.timeout.ms", "120000", "how long a batch of records is retried before the task fails"),
    Option("kafka.max.in.flight.requests.per.connection", "5", "the number of requests that a task has in flight"),
    Option(
        "kafka.group.id",
        "the prefix",
        "the consumer group in which the source's offsets are committed, with each batch; empty for none",
    ),
    Option("atomic", "false", "all tasks write in one transaction: readers see a batch in one step"),
    Option(
        "firstBatch",
        "0",
        "the first batch that the ledger accepts: earlier ones in the checkpoint had another sink",
    ),
    Option("batchHeader", "", "the name of a header that every record gets, with Spark's batch id as its value"),
    Option("idempotencyKey", "", "of a `write`: writing again under the same key does nothing"),
)

SOURCE = (
    Option("subscribe", "", "topics to read, separated by commas"),
    Option(
        "subscribePattern", "", "a regular expression that matches anywhere in a topic's name; `^` and `$` anchor it"
    ),
    Option("assign", "", 'partitions to read, as JSON: `{"orders":[0,1]}`'),
    Option("startingOffsets", "latest; earliest for `read`", "`earliest`, `latest`, or JSON with -2 and -1 for them"),
    Option("endingOffsets", "latest", "of a `read`: `latest`, or JSON"),
    Option("startingTimestamp", "", "a time in milliseconds: all partitions start there"),
    Option("endingTimestamp", "", "of a `read`: a time in milliseconds where all partitions end"),
    Option("startingOffsetsByTimestamp", "", 'JSON: `{"orders":{"0":1700000000000}}`'),
    Option("endingOffsetsByTimestamp", "", "of a `read`: the same for the end"),
    Option("startingOffsetsByTimestampStrategy", "error", "if no record is as late: `error` or `latest`"),
    Option("maxOffsetsPerTrigger", "", "of a stream: the maximum number of offsets in a batch, over all partitions"),
    Option("minOffsetsPerTrigger", "", "of a stream: how many offsets every batch except the first waits for"),
    Option("maxTriggerDelay", "15m", "of a stream: how long a batch waits for minOffsetsPerTrigger"),
    Option("minPartitions", "", "the minimum number of tasks, about"),
    Option("maxRecordsPerPartition", "", "the maximum number of offsets that a task reads"),
    Option("includeHeaders", "false", "whether there is a column `headers`"),
    Option("failOnDataLoss", "true", "whether to fail if unread offsets were deleted, or a topic has another id"),
    Option("kafka.isolation.level", "read_committed", "`read_uncommitted`: aborted and open transactions too"),
    Option("commitOffsets", "false", "of a stream: commit what a batch has read to the group kafka.group.id"),
    Option("kafkaConsumer.pollTimeoutMs", "120000", "how long a task waits for records that should be there"),
    Option(
        "fetchOffset.numRetries",
        "3",
        "how often to retry if the end of a partition is lower than the offset already read",
    ),
    Option("fetchOffset.retryIntervalMs", "1000", "the pause before such a retry"),
    Option("kafka.max.partition.fetch.bytes", "4194304", "the maximum number of bytes that a task requests at a time"),
)

# Beside these: subscribe, subscribePattern, assign, startingOffsets, endingOffsets, minPartitions and failOnDataLoss.
SEGMENTS = (
    Option("path", "", "of a `read`: a data directory, read without a broker"),
    Option("content", "records", "what a row is: `records`, `batches`, or `findings` (damage in the files)"),
    Option(
        "isolationLevel",
        "read_uncommitted",
        "`read_uncommitted`: everything in the log, markers too; `read_committed`: what a consumer gets",
    ),
    Option("splitBytes", "67108864", "the bytes of a log that a task reads, about"),
)

# Options that users of the stock connector have in their programs, and that have no effect here or are always so.
WITHOUT_EFFECT = (
    Option("kafka.acks", "all", "the only value"),
    Option("kafka.enable.idempotence", "true", "the only value"),
    Option("kafka.linger.ms", "0", "no effect: a task sends its rows when a batch is full, or at the end"),
    Option("kafka.buffer.memory", "", "no effect: a task buffers only the requests in flight"),
    Option("kafka.retries", "", "no effect: see kafka.delivery.timeout.ms"),
    Option("kafka.ssl.protocol", "", "no effect: see kafka.ssl.enabled.protocols"),
    Option("kafka.ssl.provider", "", "no effect: for Java only"),
    Option("kafka.ssl.keymanager.algorithm", "", "no effect: for Java only"),
    Option("kafka.ssl.trustmanager.algorithm", "", "no effect: for Java only"),
    Option("kafka.ssl.secure.random.implementation", "", "no effect: for Java only"),
    Option("groupIdPrefix", "", "no effect: the source needs no group to read"),
    Option("asyncProgressTrackingEnabled", "false", "refused: it could not be exactly once"),
    Option("queryName", "", "Spark's"),
)

SECTIONS: tuple[tuple[str, tuple[Option, ...]], ...] = (
    ("Both", CONNECTION),
    ("Both, for a secured cluster", SECURITY),
    ("Writing", SINK),
    ("Reading", SOURCE),
    ("Reading files", SEGMENTS),
    ("Accepted, for existing programs", WITHOUT_EFFECT),
)


def known() -> dict[str, Option]:
    """Return all options by their lower-cased names, as Spark passes them."""
    return {option.name.lower(): option for _, section in SECTIONS for option in section}


def as_markdown() -> str:
    """Return the table for docs/pipeline.md."""
    lines: list[str] = []
    for title, section in SECTIONS:
        lines += [f"**{title}**", "", "| option | default | what it does |", "|---|---|---|"]
        lines += [f"| `{each.name}` | {each.default} | {each.meaning} |" for each in section]
        lines.append("")
    return "\n".join(lines)

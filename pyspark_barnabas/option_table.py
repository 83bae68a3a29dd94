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
    Option("kafka.request.timeout.ms", "30000", "how long one call to a broker may take, its retries included"),
)

# As a Java client's properties have them: barnabas.client.security.properties reads them.
SECURITY = (
    Option("kafka.security.protocol", "PLAINTEXT", "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    Option("kafka.ssl.truststore.location", "", "which authorities are trusted: a file, on the driver and executors"),
    Option("kafka.ssl.truststore.password", "", "what opens it"),
    Option("kafka.ssl.truststore.type", "JKS", "JKS, PKCS12, PEM"),
    Option("kafka.ssl.truststore.certificates", "", "the same in PEM, in the option itself"),
    Option("kafka.ssl.keystore.location", "", "the client's own certificate and key: a file, likewise"),
    Option("kafka.ssl.keystore.password", "", "what opens it"),
    Option("kafka.ssl.keystore.type", "JKS", "JKS, PKCS12, PEM"),
    Option("kafka.ssl.keystore.certificate.chain", "", "the certificate in PEM, in the option itself"),
    Option("kafka.ssl.keystore.key", "", "the key in PEM, in the option itself"),
    Option("kafka.ssl.key.password", "", "what opens the key"),
    Option("kafka.ssl.endpoint.identification.algorithm", "https", "empty: a certificate may be any host's"),
    Option("kafka.ssl.enabled.protocols", "TLSv1.2,TLSv1.3", "which versions of TLS are spoken"),
    Option("kafka.ssl.cipher.suites", "", "by Java's names"),
    Option("kafka.sasl.mechanism", "", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
    Option("kafka.sasl.jaas.config", "", "Kafka's login module, with user and password"),
    Option("kafka.sasl.oauthbearer.token.provider", "", "`module:callable`, which executors can import: tokens"),
    Option("kafka.sasl.oauthbearer.token.endpoint.url", "", "an authorization server that gives tokens"),
    Option("kafka.sasl.oauthbearer.client.credentials.client.id", "", "who asks it"),
    Option("kafka.sasl.oauthbearer.client.credentials.client.secret", "", "and with what secret"),
    Option("kafka.sasl.oauthbearer.scope", "", "and for what"),
    Option("kafka.sasl.login.callback.handler.class", "", "Kafka's own for a token endpoint; no other Java class"),
)

SINK = (
    Option("topic", "", "where all rows go; a column `topic` says it row by row where this is not given"),
    Option("checkpointLocation", "required", "Spark's: where a stream remembers what it has done; not for `write`"),
    Option(
        "transactionalIdPrefix",
        "see above",
        "what the names of all transactions, and of the ledger, begin with. Two queries never share one",
    ),
    Option(
        "kafka.transaction.timeout.ms",
        "the broker's limit",
        "how long a transaction may stay open where nobody ends it; more than `transaction.max.timeout.ms` is refused",
    ),
    Option(
        "twoPhaseCommit",
        "auto",
        "`on`: transactions without timeout (KIP-939), refused where the broker has none; `auto`: where it has them;"
        " `off`: never",
    ),
    Option(
        "createTopics",
        "true",
        "`false`: a topic that is not there is an error, and is not created, but for the ledger's",
    ),
    Option(
        "newTopicPartitions",
        "the broker's num.partitions",
        "how many partitions a topic is created with. Without it a topic is created only where the broker does so by"
        " itself (auto.create.topics.enable)",
    ),
    Option("kafka.compression.type", "none", "none, gzip, snappy, lz4, zstd"),
    Option("kafka.batch.size", "524288", "how many bytes a batch of records has at most, unless one record is larger"),
    Option("kafka.max.request.size", "1048576", "how large one record, with what is around it, may be"),
    Option("kafka.delivery.timeout.ms", "120000", "how long a batch of records is tried before the task fails"),
    Option("kafka.max.in.flight.requests.per.connection", "5", "how many requests a task has under way at a time"),
    Option(
        "kafka.group.id",
        "the prefix",
        "the consumer group in which the source's offsets are committed, with each batch; empty for none",
    ),
    Option("atomic", "false", "all tasks write in one transaction: readers see a batch in one step"),
    Option(
        "firstBatch",
        "0",
        "the batch that the ledger may go on with: those before it, in the checkpoint, had another sink",
    ),
    Option("batchHeader", "", "the name of a header that every record is given, with Spark's batch id as its value"),
    Option("idempotencyKey", "", "of a `write`: writing again under the same key does nothing"),
)

SOURCE = (
    Option("subscribe", "", "topics to read, separated by commas"),
    Option("subscribePattern", "", "a regular expression, found anywhere in a topic's name; `^` and `$` anchor it"),
    Option("assign", "", 'partitions to read, as JSON: `{"orders":[0,1]}`'),
    Option("startingOffsets", "latest; earliest for `read`", "`earliest`, `latest`, or JSON with -2 and -1 for them"),
    Option("endingOffsets", "latest", "of a `read`: `latest`, or JSON"),
    Option("startingTimestamp", "", "milliseconds: where all partitions start"),
    Option("endingTimestamp", "", "of a `read`: milliseconds where all partitions end"),
    Option("startingOffsetsByTimestamp", "", 'JSON: `{"orders":{"0":1700000000000}}`'),
    Option("endingOffsetsByTimestamp", "", "of a `read`: the same for the end"),
    Option("startingOffsetsByTimestampStrategy", "error", "where no record is as late: `error` or `latest`"),
    Option("maxOffsetsPerTrigger", "", "of a stream: how many offsets a batch has at most, over all partitions"),
    Option("minOffsetsPerTrigger", "", "of a stream: how many a batch waits for, but the first"),
    Option("maxTriggerDelay", "15m", "of a stream: for how long it waits for minOffsetsPerTrigger"),
    Option("minPartitions", "", "how many tasks there are at least, about"),
    Option("maxRecordsPerPartition", "", "how many offsets a task reads at most"),
    Option("includeHeaders", "false", "whether there is a column `headers`"),
    Option("failOnDataLoss", "true", "whether to fail where offsets are gone that were to be read"),
    Option("kafka.isolation.level", "read_committed", "`read_uncommitted`: aborted and open transactions too"),
    Option("commitOffsets", "false", "of a stream: commit what a batch has read to the group kafka.group.id"),
    Option("kafkaConsumer.pollTimeoutMs", "120000", "how long a task waits for records that should be there"),
    Option("fetchOffset.numRetries", "3", "how often an end is asked for again that is lower than what was read"),
    Option("fetchOffset.retryIntervalMs", "1000", "how long after"),
    Option("kafka.max.partition.fetch.bytes", "4194304", "how many bytes a task asks for at a time"),
)

# Beside these: subscribe, subscribePattern, assign, startingOffsets, endingOffsets, minPartitions and failOnDataLoss.
SEGMENTS = (
    Option("path", "", "of a `read`: a data directory, read without a broker"),
    Option("content", "records", "what a row is: `records`, `batches`, or `findings`: what is wrong with the files"),
    Option(
        "isolationLevel",
        "read_uncommitted",
        "`read_uncommitted`: all that is in the log, markers too; `read_committed`: what a consumer gets",
    ),
    Option("splitBytes", "67108864", "about how many bytes of a log a task reads"),
)

# Options that users of the stock connector have in their programs, and that have no effect here or are always so.
WITHOUT_EFFECT = (
    Option("kafka.acks", "all", "nothing else is offered"),
    Option("kafka.enable.idempotence", "true", "nothing else is offered"),
    Option("kafka.linger.ms", "0", "without effect: a task's rows leave as soon as a batch is full, or they end"),
    Option("kafka.buffer.memory", "", "without effect: a task holds its requests under way, and no more"),
    Option("kafka.retries", "", "without effect: see kafka.delivery.timeout.ms"),
    Option("kafka.ssl.protocol", "", "without effect: see kafka.ssl.enabled.protocols"),
    Option("kafka.ssl.provider", "", "without effect: Java's"),
    Option("kafka.ssl.keymanager.algorithm", "", "without effect: Java's"),
    Option("kafka.ssl.trustmanager.algorithm", "", "without effect: Java's"),
    Option("kafka.ssl.secure.random.implementation", "", "without effect: Java's"),
    Option("groupIdPrefix", "", "without effect: the source needs no group to read"),
    Option("asyncProgressTrackingEnabled", "false", "refused: it could not be exact"),
    Option("queryName", "", "Spark's"),
)

SECTIONS: tuple[tuple[str, tuple[Option, ...]], ...] = (
    ("Both", CONNECTION),
    ("Both, for a secured cluster", SECURITY),
    ("Writing", SINK),
    ("Reading", SOURCE),
    ("Reading files", SEGMENTS),
    ("Accepted for the sake of old programs", WITHOUT_EFFECT),
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

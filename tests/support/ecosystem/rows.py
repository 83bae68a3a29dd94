"""The table of docs/ecosystem.md: what was run against the broker, and what tests/ecosystem proves of each row."""

from __future__ import annotations

from tests.support.ecosystem.row import AT_LEAST_ONCE, EXACTLY_ONCE, Row

PYTHON = (
    Row(
        name="aiokafka, transactions",
        pins=("aiokafka==0.14.0",),
        program="python/aiokafka_transactions.py",
        guarantee=EXACTLY_ONCE,
        settings="after an aborted transaction `seek_to_committed()`, else its records are skipped",
        is_quick=True,
    ),
    Row(
        name="Sentry's arroyo",
        pins=("sentry-arroyo==2.48.0",),
        program="python/arroyo_processor.py",
        guarantee=AT_LEAST_ONCE,
        is_quick=True,
    ),
    Row(
        name="FastStream",
        pins=("faststream[kafka]==0.7.8",),
        program="python/faststream_app.py",
        guarantee=AT_LEAST_ONCE,
        settings=(
            "`ack_policy=AckPolicy.NACK_ON_ERROR`, else offsets may be committed before their records are handled; "
            '`isolation_level="read_committed"`, else aborted records are read'
        ),
    ),
    Row(
        name="bytewax",
        pins=("bytewax[kafka]==0.21.1",),
        program="python/bytewax_flow.py",
        guarantee=AT_LEAST_ONCE,
        settings="a recovery store: it has the offsets, and no group commits any",
    ),
)
JAVA = (
    Row(
        name="MirrorMaker 2",
        pins=("org.apache.kafka:connect-mirror:4.3.1", "org.apache.kafka:connect-runtime:4.3.1"),
        program="java/Mirror.java",
        guarantee=EXACTLY_ONCE,
        settings="`exactly.once.source.support=enabled` for the target, replication factors of 1 for its own topics",
        traps="copies aborted records, too, unless `consumer.isolation.level=read_committed` is set for the source",
    ),
    Row(
        name="Flink, KafkaSource and KafkaSink",
        pins=(
            "org.apache.flink:flink-connector-kafka:5.0.0-2.2",
            "org.apache.flink:flink-clients:2.3.0",
            "org.apache.flink:flink-streaming-java:2.3.0",
            "org.apache.flink:flink-connector-base:2.3.0",
        ),
        program="java/FlinkJob.java",
        guarantee=EXACTLY_ONCE,
        settings="checkpoints, a prefix of transactional ids, and a transaction timeout of at most 15 minutes",
    ),
    Row(
        name="Reactor Kafka",
        pins=("io.projectreactor.kafka:reactor-kafka:1.3.25",),
        program="java/ReactorCopier.java",
        guarantee=EXACTLY_ONCE,
    ),
    Row(
        name="SmallRye Reactive Messaging",
        pins=(
            "io.smallrye.reactive:smallrye-reactive-messaging-kafka:4.36.0",
            "org.jboss.weld.se:weld-se-core:6.0.3.Final",
            "io.smallrye.config:smallrye-config:3.13.4",
            "io.smallrye.reactive:mutiny-reactive-streams-operators:3.1.0",
            "org.eclipse.microprofile.reactive-streams-operators:microprofile-reactive-streams-operators-api:3.0.1",
        ),
        program="java/SmallRyeCopier.java",
        guarantee=AT_LEAST_ONCE,
        settings="`isolation.level=read_committed`, else aborted records are read",
    ),
    Row(
        name="Apache Camel",
        pins=("org.apache.camel:camel-kafka:4.22.0", "org.apache.camel:camel-main:4.22.0"),
        program="java/CamelCopier.java",
        guarantee=AT_LEAST_ONCE,
        settings=(
            "`breakOnFirstError=true`, else a record that cannot be written in time is left out; "
            "`isolationLevel=read_committed`, else aborted records are read"
        ),
        traps=(
            "waits for each record's acknowledgement before the next one, and for its linger of 5 ms, too, "
            "unless `lingerMs=0` is set"
        ),
    ),
    Row(
        name="Apache Beam, KafkaIO on the direct runner",
        pins=(
            "org.apache.beam:beam-sdks-java-io-kafka:2.73.0",
            "org.apache.beam:beam-runners-direct-java:2.73.0",
            "org.apache.kafka:kafka-clients:3.9.2",
        ),
        program="java/BeamCopier.java",
        guarantee=EXACTLY_ONCE,
        settings=(
            "`withReadCommitted()`, else aborted records are read; kafka-clients 3.x for `withEOS`, as 4.0 has no more "
            "of the method that it calls; without Confluent's serializers exclude `io.confluent`"
        ),
        left_out=("io.confluent:*",),
    ),
    Row(
        name="Spring for Apache Kafka",
        pins=("org.springframework.kafka:spring-kafka:4.1.2",),
        program="java/SpringCopier.java",
        guarantee=EXACTLY_ONCE,
        settings=(
            "a `KafkaTransactionManager` for the listener's container, so that offsets are in the transactions; "
            "`isolation.level=read_committed`, else aborted records are read"
        ),
    ),
    Row(
        name="Debezium, from PostgreSQL",
        pins=("io.debezium:debezium-connector-postgres:3.6.1.Final", "org.apache.kafka:connect-runtime:4.3.1"),
        program="java/DebeziumWorker.java",
        guarantee=EXACTLY_ONCE,
        settings=(
            "`exactly.once.source.support=enabled` for the worker, `exactly.once.support=required` for the connector, "
            "replication factors of 1 for the worker's topics; for PostgreSQL `wal_level=logical`"
        ),
        traps=(
            "an outage of `heartbeat.interval.ms` stops Connect's tasks, and an unfinished snapshot begins anew: "
            "its rows are in the topic twice, so the program streams only (`snapshot.mode=no_data`, publication and "
            "slot made before the rows); Connect 4.3.1 answers a wrong setting of the connector with "
            "a `NullPointerException`, and only `PUT …/config/validate` names it; its metrics need a class that "
            "Kafka 4.4.0 has moved, so the worker is of 4.3.1"
        ),
        reads_table=True,
    ),
)
GO = (
    Row(
        name="goka",
        pins=("github.com/lovoo/goka@v1.1.14", "github.com/IBM/sarama@v1.46.3"),
        program="go/goka_copier/goka_copier.go",
        guarantee=AT_LEAST_ONCE,
        settings=(
            "sarama 1.46 or later, and `Metadata.Retry.Max` and `Producer.Retry.Max` that outlast a restart, else "
            "records are lost at one; a loop that makes a new processor, as one ends at an error; "
            "`sarama.ReadCommitted`, else aborted records are read"
        ),
        traps=(
            "commits past a record whose `Emit` has failed, so that it is lost; the sarama that goka requires, 1.45.1, "
            "lets an `Emit` fail when two partitions look for their leader at once, however many retries are set"
        ),
    ),
    Row(
        name="OpenTelemetry Collector, Kafka receiver and exporter",
        pins=(
            "github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter@v0.165.0",
            "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkareceiver@v0.165.0",
            "go.opentelemetry.io/collector/otelcol@v0.165.0",
            "go.opentelemetry.io/collector/receiver/otlpreceiver@v0.165.0",
            "go.opentelemetry.io/collector/exporter/otlpexporter@v0.165.0",
        ),
        program="go/otel_collector/otel_collector.go",
        guarantee=AT_LEAST_ONCE,
        settings=(
            "for the receiver `message_marking.after=true` and `error_backoff`, else offsets are committed before "
            "their records are handled; for exporters `sending_queue.enabled=false`, else a queue in memory is as "
            "good as written"
        ),
        traps="has no setting for the isolation level: reads the records of aborted transactions, too",
        reads_committed=False,
    ),
    Row(
        name="Watermill",
        pins=("github.com/ThreeDotsLabs/watermill-kafka/v3@v3.0.6",),
        program="go/watermill/watermill.go",
        guarantee=AT_LEAST_ONCE,
        settings="`sarama.ReadCommitted`, else aborted records are read",
    ),
)
JAVASCRIPT = (
    Row(
        name="Confluent's JavaScript client",
        pins=("@confluentinc/kafka-javascript@1.10.1",),
        program="js/confluent_kafka.mjs",
        guarantee=AT_LEAST_ONCE,
        traps=(
            "may take 40 s to write again after the broker is back: it lets librdkafka wait up to 30 s before it "
            "repeats a request; with `retry: { maxRetryTime: 1000 }` these are 14 s, as librdkafka waits up to 10 s, "
            "and half of that more, before it connects again"
        ),
    ),
)
RUST = (
    Row(
        name="rskafka",
        pins=("rskafka@0.6.0",),
        program="rust/src/rskafka_copier.rs",
        guarantee=AT_LEAST_ONCE,
        settings="offsets that the program stores itself: it has no groups",
        traps="fails at the marker of a transaction: `Unknown control batch record version`",
        reads_committed=False,
    ),
)
ROWS = PYTHON + JAVA + GO + JAVASCRIPT + RUST

#!/bin/sh
# Confluent's serializer of Protobuf fails beside kafka-clients 4.4.0.
#
# Software: kafka-protobuf-provider and kafka-protobuf-serializer 7.0.1, as the jar of debezium-connector-cassandra-4
#   3.3.0.Final has them (85 MB), with kafka-clients 4.4.0 and 4.3.1 of Apache Kafka; Java 17 or later, Maven.
# Expected: Kafka's minor releases keep what serializers are built on.
# Seen: a record's bytes say which message of a schema it is, and that is written by Kafka's ByteUtils. 4.4.0 has moved
#   it from org.apache.kafka.common.utils to org.apache.kafka.common.utils.internals, so that the first record to be
#   serialized, or read, raises NoClassDefFoundError. The serializer of Avro names no such class.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > Main.java <<'JAVA'
import io.confluent.kafka.schemaregistry.protobuf.MessageIndexes;
import java.util.List;

class Main {
    public static void main(String[] arguments) {
        String seen;
        try {
            seen = new MessageIndexes(List.of(0)).toByteArray().length + " byte";
        } catch (NoClassDefFoundError error) {
            seen = error.toString();
        }
        System.out.println("kafka-protobuf-provider 7.0.1 with Kafka " + arguments[0] + ": " + seen);
        if (!seen.equals(arguments[1])) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
get() { # an artifact, and where it goes
    mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy "-Dartifact=$1" \
        "-DoutputDirectory=$2" >log 2>&1 || { cat log; exit 1; }
}
get io.debezium:debezium-connector-cassandra-4:3.3.0.Final:jar:jar-with-dependencies .
jar -xf debezium-connector-cassandra-4-3.3.0.Final-jar-with-dependencies.jar io/confluent
run() { # Kafka's version, and what is seen
    get "org.apache.kafka:kafka-clients:$1" "$1"
    java -cp ".:$1/*" Main.java "$1" "$2" 2>>log || { cat log; exit 1; }
}
run 4.3.1 '1 byte'
run 4.4.0 'java.lang.NoClassDefFoundError: org/apache/kafka/common/utils/ByteUtils'

#!/bin/sh
# Debezium's connector for Cassandra has Confluent's converter of Protobuf in its jar, and a class too few for it.
#
# Software: debezium-connector-cassandra-4 3.3.0.Final, jar-with-dependencies (85 MB); Java 17 or later, Maven.
# Expected: what the jar has of Confluent's, 7.0.1, works with what else is in it.
# Seen: the first schema of Protobuf raises NoClassDefFoundError. The jar has Google's common types as they were before
#   google.type.DateTime, which kafka-protobuf-provider names. With proto-google-common-protos 2.5.1 before it, it works.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > Main.java <<'JAVA'
import io.confluent.kafka.schemaregistry.protobuf.ProtobufSchema;

class Main {
    public static void main(String[] arguments) {
        String seen;
        try {
            seen = new ProtobufSchema("syntax = \"proto3\"; message Order { int64 amount = 1; }").name();
        } catch (NoClassDefFoundError error) {
            seen = error.toString();
        }
        System.out.println(arguments[0] + ": " + seen);
        if (!seen.equals(arguments[1])) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
get() { # an artifact
    mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy "-Dartifact=$1" \
        -DoutputDirectory=. >log 2>&1 || { cat log; exit 1; }
}
get io.debezium:debezium-connector-cassandra-4:3.3.0.Final:jar:jar-with-dependencies
get com.google.api.grpc:proto-google-common-protos:2.5.1
whole=debezium-connector-cassandra-4-3.3.0.Final-jar-with-dependencies.jar
run() { # a class path, and what is seen
    java -cp "$1" Main.java "$1" "$2" 2>>log || { cat log; exit 1; }
}
run "proto-google-common-protos-2.5.1.jar:$whole" Order
run "$whole" 'java.lang.NoClassDefFoundError: com/google/type/DateTimeProto'

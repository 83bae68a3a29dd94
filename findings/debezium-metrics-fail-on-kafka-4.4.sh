#!/bin/sh
# The metrics of Debezium's connectors fail beside kafka-clients 4.4.0, which a Kafka Connect worker of 4.4.0 has.
#
# Software: debezium-connector-postgres 3.6.1.Final, with connect-api and kafka-clients 4.4.0 and 4.3.1 of Apache Kafka;
#   Java 17 or later, Maven.
# Expected: Kafka's minor releases keep what plug-ins are built on, so a connector of 4.3 runs in a worker of 4.4.
# Seen: before it reads anything, a connector's task names its metrics, here as in a worker by Debezium's class
#   Metrics. With 4.3.1 that works. With 4.4.0 it raises NoClassDefFoundError for Sanitizer: 32 classes have moved from
#   org.apache.kafka.common.utils to org.apache.kafka.common.utils.internals. Among them is AppInfoParser, by which many
#   connectors, also Kafka's own of 4.3.1, return their version.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.debezium</groupId><artifactId>debezium-connector-postgres</artifactId><version>3.6.1.Final</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>connect-api</artifactId><version>${kafka}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>${kafka}</version>
    </dependency>
  </dependencies>
</project>
XML
cat > Main.java <<'JAVA'
import io.debezium.config.CommonConnectorConfig;
import io.debezium.config.Configuration;
import io.debezium.connector.postgresql.PostgresConnectorConfig;
import io.debezium.metrics.Metrics;
import java.util.Map;

class Main {
    static class TaskMetrics extends Metrics {
        TaskMetrics(CommonConnectorConfig config) {
            super(config, "streaming", false);
        }
    }

    public static void main(String[] arguments) {
        var settings = Map.of("topic.prefix", "shop", "database.hostname", "database", "database.dbname", "shop");
        var config = new PostgresConnectorConfig(Configuration.from(settings));
        String seen;
        try {
            new TaskMetrics(config);
            seen = "named";
        } catch (NoClassDefFoundError error) {
            seen = error.toString();
        }
        System.out.println("Debezium 3.6.1.Final with Kafka " + arguments[0] + ": " + seen);
        if (!seen.equals(arguments[1])) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
run() { # Kafka's version, and what is seen
    mvn --quiet --batch-mode "$copy" "-Dkafka=$1" "-DoutputDirectory=$1" >log 2>&1 || { cat log; exit 1; }
    java -cp "$1/*" Main.java "$1" "$2" 2>>log || { cat log; exit 1; }
}
run 4.3.1 named
run 4.4.0 'java.lang.NoClassDefFoundError: org/apache/kafka/common/utils/Sanitizer'

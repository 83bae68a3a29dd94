#!/bin/sh
# Kafka's MockProducer takes a record between two transactions, which a KafkaProducer refuses.
#
# Software: kafka-clients 4.4.0; franz-go's kfake v0.0.0-20260918054303-01f206a7e32c as the broker of the KafkaProducer;
#   Go 1.26 or later, Java 17 or later, Maven.
# Expected: "it throws IllegalStateException if transactional.id has been configured and no transaction has been
#   started" (the documentation of KafkaProducer.send). The mock keeps to such rules: beginTransaction() without
#   initTransactions() raises IllegalStateException in both, and so does a second beginTransaction().
# Seen: after initTransactions(), and after a commit, the mock's send() is done, and the record is in history() at once,
#   as a committed one is. A program that sends a last record after commitTransaction() passes its tests, and fails with
#   its first broker.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>4.4.0</version>
    </dependency>
  </dependencies>
</project>
XML
cat > main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "topic"))
	if err != nil {
		panic(err)
	}
	fmt.Println(cluster.ListenAddrs()[0])
	io.Copy(io.Discard, os.Stdin) // until it is closed
}
GO
cat > Main.java <<'JAVA'
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

class Main {
    interface Step {
        void run() throws Exception;
    }

    static String outcome(Step step) {
        try {
            step.run();
            return "done";
        } catch (Exception error) {
            return error.getClass().getSimpleName();
        }
    }

    /** Returns what a producer says to steps in the wrong order, and to a send between two transactions. */
    static List<String> outcomes(Producer<String, String> producer) {
        var outcomes = new ArrayList<String>();
        Step send = () -> producer.send(new ProducerRecord<>("topic", "key", "value")).get();
        outcomes.add(outcome(producer::beginTransaction));
        producer.initTransactions();
        outcomes.add(outcome(send));
        producer.beginTransaction();
        outcomes.add(outcome(producer::beginTransaction));
        outcomes.add(outcome(send));
        producer.commitTransaction();
        outcomes.add(outcome(send));
        return outcomes;
    }

    public static void main(String[] arguments) throws Exception {
        var broker = new ProcessBuilder("./broker").redirectError(ProcessBuilder.Redirect.INHERIT).start();
        var servers = new BufferedReader(new InputStreamReader(broker.getInputStream())).readLine();
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "transactional.id", "finding");
        List<String> real;
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            real = outcomes(producer);
        } finally {
            broker.destroy();
        }
        var mock = new MockProducer<String, String>(true, null, new StringSerializer(), new StringSerializer());
        var mocked = outcomes(mock);
        System.out.println("begin before init, send before begin, begin twice, send, send after commit:");
        System.out.println("KafkaProducer 4.4.0: " + real);
        System.out.println("MockProducer 4.4.0:  " + mocked + ", records in history: " + mock.history().size());
        var refused = "IllegalStateException";
        if (!real.equals(List.of(refused, refused, refused, "done", refused))
                || !mocked.equals(List.of(refused, "done", refused, "done", "done")) || mock.history().size() != 3) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
go mod init broker 2>log
go get github.com/twmb/franz-go@v1.22.3 github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go build -o broker .
copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
mvn --quiet --batch-mode "$copy" -DoutputDirectory=jars >>log 2>&1
java -cp 'jars/*' Main.java 2>>log

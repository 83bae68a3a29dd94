#!/bin/sh
# Kafka Connect's default header converter drops what follows a number and a comma, colon or bracket: 10:00 becomes 10.
#
# Software: connect-api 4.4.0 of Apache Kafka, with its own dependencies; Java 17 or later, Maven.
# Expected: SimpleHeaderConverter, which a worker uses for headers unless it is told otherwise, takes text that is no
#   number for text, as it does with "192.168.0.1" and "true,false".
# Seen: a sink connector gets the number 10 for the header "10:00", 1 for "1,234.50" and 0 for "00:1A:2B:3C"; the rest is
#   lost without an error. Text that is a number is one: "007" is 7, and "1.10" is 1.1, also if it is written again.
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
      <groupId>org.apache.kafka</groupId><artifactId>connect-api</artifactId><version>4.4.0</version>
    </dependency>
  </dependencies>
</project>
XML
cat > Main.java <<'JAVA'
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

class Main {
    public static void main(String[] arguments) {
        var converter = new SimpleHeaderConverter();
        converter.configure(Map.of());
        var seen = new ArrayList<String>();
        var headers = List.of("10:00", "1,234.50", "00:1A:2B:3C", "7]", "007", "1.10", "192.168.0.1", "true,false");
        for (var header : headers) {
            var read = converter.toConnectHeader("topic", "header", header.getBytes(StandardCharsets.UTF_8));
            byte[] written = converter.fromConnectHeader("topic", "header", read.schema(), read.value());
            String type = read.value().getClass().getSimpleName();
            String again = new String(written, StandardCharsets.UTF_8);
            System.out.println("connect-api 4.4.0: " + header + " is " + type + " " + read.value() + ", again " + again);
            seen.add(type + " " + again);
        }
        var expected = List.of("Byte 10", "Byte 1", "Byte 0", "Byte 7", "Byte 7", "Float 1.1", "String 192.168.0.1",
            "String true,false");
        if (!seen.equals(expected)) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
mvn --quiet --batch-mode "$copy" -DoutputDirectory=jars >log 2>&1
java -cp "jars/*" Main.java 2>>log

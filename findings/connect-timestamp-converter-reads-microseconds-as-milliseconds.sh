#!/bin/sh
# Kafka Connect's TimestampConverter reads a time with six decimals up to 16 minutes late, without an error.
#
# Software: connect-transforms 4.4.0 of Apache Kafka, with its own dependencies; Java 17 or later, Maven.
# Expected: with the format "yyyy-MM-dd HH:mm:ss.SSS", 10:00:00.123456 (as PostgreSQL and Python print it) is read as
#   10:00:00.123, or refused (DataException), as other text that does not fit is.
# Seen: 10:02:03.456: the six digits are taken for 123,456 milliseconds. .999999 is 10:16:39.999. More letters S in the
#   format change nothing. The format reads 30 February as 2 March, and ignores text behind the pattern.
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
      <groupId>org.apache.kafka</groupId><artifactId>connect-transforms</artifactId><version>4.4.0</version>
    </dependency>
  </dependencies>
</project>
XML
cat > Main.java <<'JAVA'
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.TimestampConverter;

class Main {
    static final List<String> seen = new ArrayList<>();

    static void read(String text, String format) {
        try (var converter = new TimestampConverter.Value<SourceRecord>()) {
            converter.configure(Map.of("target.type", "Timestamp", "format", format));
            String found;
            try {
                var read = converter.apply(new SourceRecord(null, null, "topic", 0, Schema.STRING_SCHEMA, text));
                found = ((Date) read.value()).toInstant().toString();
            } catch (DataException refused) {
                found = "refused";
            }
            System.out.println("connect-transforms 4.4.0: " + text + " as " + format + ": " + found);
            seen.add(found);
        }
    }

    public static void main(String[] arguments) {
        read("2026-02-03 10:00:00.123", "yyyy-MM-dd HH:mm:ss.SSS");
        read("2026-02-03 10:00:00.123456", "yyyy-MM-dd HH:mm:ss.SSS");
        read("2026-02-03 10:00:00.999999", "yyyy-MM-dd HH:mm:ss.SSSSSS");
        read("2026-02-30 10:00:00.000", "yyyy-MM-dd HH:mm:ss.SSS");
        read("2026-02-03 10:00:00", "yyyy-MM-dd");
        read("10:00:00", "yyyy-MM-dd HH:mm:ss.SSS");
        var expected = List.of(
            "2026-02-03T10:00:00.123Z",
            "2026-02-03T10:02:03.456Z",
            "2026-02-03T10:16:39.999Z",
            "2026-03-02T10:00:00Z",
            "2026-02-03T00:00:00Z",
            "refused");
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

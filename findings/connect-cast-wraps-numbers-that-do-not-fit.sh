#!/bin/sh
# Kafka Connect's Cast makes another number of one that does not fit: 300 becomes the int8 44. As text it refuses it.
#
# Software: connect-transforms 4.4.0 of Apache Kafka, with its own dependencies; Java 17 or later, Maven.
# Expected: a number that the wished type cannot hold is refused (DataException), as is the text "300" for an int8:
#   "Value (300) was out of range for requested data type".
# Seen: the lowest bits of a whole number (300 is 44 as int8, 5000000000 is 705032704 as int32, the milliseconds of a
#   timestamp of 2025 are a negative int32); of 1.0E20 the largest int32, and -1 as int8 and int16. Also 0.5 is false as
#   a boolean, where any whole number but 0 is true.
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
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Cast;

class Main {
    static final Map<String, String> seen = new LinkedHashMap<>();

    static void cast(Object value, Schema schema, String type) {
        try (var cast = new Cast.Value<SourceRecord>()) {
            cast.configure(Map.of("spec", type));
            String found;
            try {
                found = cast.apply(new SourceRecord(null, null, "topic", 0, schema, value)).value().toString();
            } catch (DataException refused) {
                found = refused.getMessage();
            }
            String what = value instanceof java.util.Date date ? "Timestamp " + date.getTime()
                : value.getClass().getSimpleName() + " " + value;
            System.out.println("connect-transforms 4.4.0: " + what + " as " + type + ": " + found);
            seen.put(what + " " + type, found);
        }
    }

    public static void main(String[] arguments) {
        cast("300", null, "int8");
        cast(300, null, "int8");
        cast(70_000, null, "int16");
        cast(5_000_000_000L, null, "int32");
        cast(new java.util.Date(1_764_590_400_000L), Timestamp.SCHEMA, "int32");
        cast(1e20, null, "int32");
        cast(1e20, null, "int16");
        cast(0.5, null, "boolean");
        cast(300, null, "boolean");
        var expected = Map.of(
            "String 300 int8", "Value (300) was out of range for requested data type",
            "Integer 300 int8", "44",
            "Integer 70000 int16", "4464",
            "Long 5000000000 int32", "705032704",
            "Timestamp 1764590400000 int32", "-641158656",
            "Double 1.0E20 int32", "2147483647",
            "Double 1.0E20 int16", "-1",
            "Double 0.5 boolean", "false",
            "Integer 300 boolean", "true");
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

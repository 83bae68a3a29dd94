#!/bin/sh
# Kafka Connect writes each date and timestamp before 2 January 1970 as a time of day, without the date.
#
# Software: connect-api and connect-transforms 4.4.0 of Apache Kafka, with their own dependencies; Java 17 or later,
#   Maven.
# Expected: the transformation Cast turns a Date into its ISO form, such as 1965-05-17, and a Timestamp into its own;
#   a worker's default header converter, SimpleHeaderConverter, gives back the header that it has read. A format that
#   follows from the type could not mix them up.
# Seen: which of the three forms is written depends on the number: below one day it is taken for a time. So a day of
#   birth in 1965 is "00:00:00.000Z", in a field as in a header, and a timestamp of that year loses its day. A timestamp
#   at midnight, in any year, is written without its time, so that one column has texts of two forms.
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
import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.transforms.Cast;

class Main {
    static String cast(Schema schema, String instant) {
        try (var cast = new Cast.Value<SourceRecord>()) {
            cast.configure(Map.of("spec", "string"));
            var value = java.util.Date.from(Instant.parse(instant));
            return (String) cast.apply(new SourceRecord(null, null, "topic", schema, value)).value();
        }
    }

    static String header(String text) {
        var converter = new SimpleHeaderConverter();
        converter.configure(Map.of());
        var read = converter.toConnectHeader("topic", "header", text.getBytes(UTF_8));
        return new String(converter.fromConnectHeader("topic", "header", read.schema(), read.value()), UTF_8);
    }

    public static void main(String[] arguments) {
        var dates = Stream.of("2001-05-17", "1965-05-17").map(day -> cast(Date.SCHEMA, day + "T00:00:00Z")).toList();
        var times = Stream.of("2001-05-17T08:00:00Z", "2001-05-17T00:00:00Z", "1965-05-17T08:00:00Z")
            .map(time -> cast(Timestamp.SCHEMA, time)).toList();
        var headers = Stream.of("2001-05-17", "1965-05-17").map(Main::header).toList();
        System.out.println("Connect 4.4.0, Cast of 2001-05-17 and 1965-05-17: " + dates);
        System.out.println("Cast of 2001-05-17T08:00, 2001-05-17T00:00 and 1965-05-17T08:00: " + times);
        System.out.println("headers 2001-05-17 and 1965-05-17 behind SimpleHeaderConverter: " + headers);
        if (!dates.equals(List.of("2001-05-17", "00:00:00.000Z"))
                || !times.equals(List.of("2001-05-17T08:00:00.000Z", "2001-05-17", "08:00:00.000Z"))
                || !headers.equals(dates)) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
mvn --quiet --batch-mode "$copy" -DoutputDirectory=jars >log 2>&1
java -cp 'jars/*' Main.java 2>>log

#!/bin/sh
# Kafka Connect's JsonConverter writes NaN and the infinities as strings, and reads its own strings back as 0.0.
#
# Software: connect-json 4.3.1 of Apache Kafka, with its own dependencies; Java 17 or later, Maven.
# Expected: a converter gives back what it was given, or refuses it (DataException). Here a measurement that is not a
#   number goes from a source connector over a topic into a sink as an ordinary zero, in a field that may be null and in
#   one that may not, although the record on the topic still has "NaN".
# Seen: "payload":{"nan":"NaN","high":"Infinity","low":"-Infinity"} on the topic, 0.0 three times behind it.
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
      <groupId>org.apache.kafka</groupId><artifactId>connect-json</artifactId><version>4.3.1</version>
    </dependency>
  </dependencies>
</project>
XML
cat > Main.java <<'JAVA'
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

class Main {
    public static void main(String[] arguments) {
        var converter = new JsonConverter();
        converter.configure(Map.of(), false);
        var schema = SchemaBuilder.struct()
            .field("nan", Schema.FLOAT64_SCHEMA)
            .field("high", Schema.OPTIONAL_FLOAT64_SCHEMA)
            .field("low", Schema.FLOAT32_SCHEMA)
            .build();
        var given = new Struct(schema)
            .put("nan", Double.NaN)
            .put("high", Double.POSITIVE_INFINITY)
            .put("low", Float.NEGATIVE_INFINITY);
        byte[] record = converter.fromConnectData("topic", schema, given);
        var text = new String(record, StandardCharsets.UTF_8);
        var read = converter.toConnectData("topic", record).value().toString();
        System.out.println("connect-json 4.3.1 was given " + given);
        System.out.println("on the topic: …" + text.substring(text.indexOf("\"payload\"")));
        System.out.println("behind it: " + read);
        if (!text.contains("{\"nan\":\"NaN\",\"high\":\"Infinity\",\"low\":\"-Infinity\"}")
                || !read.equals("Struct{nan=0.0,high=0.0,low=0.0}")) {
            System.out.println("the behaviour has changed");
            System.exit(1);
        }
    }
}
JAVA
copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
mvn --quiet --batch-mode "$copy" -DoutputDirectory=jars >log 2>&1
java -cp 'jars/*' Main.java 2>>log

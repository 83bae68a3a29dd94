import io.apicurio.registry.resolver.config.SchemaResolverConfig;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.strategy.TopicIdStrategy;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Avro records through Apicurio's own serializers, in a topic of one partition.
 *
 *   AvroOrders ADDRESS REGISTRY_URL TOPIC SCHEMA
 *
 * Each line on stdin is a step. "write KEY AMOUNT" writes an order with the schema given and prints "written". "delete
 * KEY" writes a tombstone. "read" reads the topic from its start and prints the last order of each key as "KEY JSON", then
 * "read".
 */
public final class AvroOrders {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("enable.auto.commit", false);
        settings.put(SchemaResolverConfig.REGISTRY_URL, arguments[1]);
        settings.put(SchemaResolverConfig.AUTO_REGISTER_ARTIFACT, true);
        settings.put(SchemaResolverConfig.ARTIFACT_RESOLVER_STRATEGY, TopicIdStrategy.class.getName());
        String topic = arguments[2];
        Schema schema = new Schema.Parser().parse(arguments[3]);
        AvroKafkaSerializer<GenericRecord> serializer = new AvroKafkaSerializer<>();
        serializer.configure(settings, false);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaProducer<String, GenericRecord> producer =
                new KafkaProducer<>(settings, new StringSerializer(), serializer)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("read")) {
                    read(settings, topic);
                } else {
                    GenericRecord order = words[0].equals("write") ? order(schema, words[2]) : null;
                    producer.send(new ProducerRecord<>(topic, words[1], order)).get();
                }
                System.out.println(words[0]);
            }
        }
    }

    private static GenericRecord order(Schema schema, String amount) {
        GenericRecord order = new GenericData.Record(schema);
        for (Schema.Field field : schema.getFields()) {
            order.put(field.name(), field.name().equals("amount") ? (Object) Long.parseLong(amount) : "java");
        }
        return order;
    }

    private static void read(Map<String, Object> settings, String topic) {
        AvroKafkaDeserializer<GenericRecord> deserializer = new AvroKafkaDeserializer<>();
        deserializer.configure(settings, false);
        Map<String, GenericRecord> last = new TreeMap<>();
        try (KafkaConsumer<String, GenericRecord> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), deserializer)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                consumer.poll(Duration.ofSeconds(1)).forEach(record -> {
                    if (record.value() == null) {
                        last.remove(record.key());
                    } else {
                        last.put(record.key(), record.value());
                    }
                });
            }
        }
        last.forEach((key, order) -> System.out.println("order " + key + " " + order));
    }
}

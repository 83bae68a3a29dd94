import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import org.apache.flink.avro.shaded.org.apache.avro.Schema;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericData;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericRecord;
import org.apache.flink.formats.avro.registry.confluent.ConfluentRegistryAvroDeserializationSchema;
import org.apache.flink.formats.avro.registry.confluent.ConfluentRegistryAvroSerializationSchema;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes and reads orders through Flink's Avro format, which has Confluent's client of schema registries in it.
 *
 *   FlinkSerializers STEP ADDRESS REGISTRY_URL TOPIC [SCHEMA...]
 *
 * STEP is write or read; tests/compat/serializers/test_serializers.py says what each prints.
 */
public final class FlinkSerializers {
    private static final int ORDERS = 2;

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[1]);
        if (arguments[0].equals("write")) {
            write(settings, arguments[2], arguments[3], List.of(arguments).subList(4, arguments.length));
        } else {
            read(settings, arguments[2], arguments[3]);
        }
    }

    private static void write(Map<String, Object> settings, String url, String topic, List<String> schemas)
            throws Exception {
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int version = 0; version < ORDERS; version++) {
                byte[] value = serialize(url, topic, schemas.get(version), version + 1);
                producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
            }
        }
        try {
            serialize(url, topic, schemas.get(ORDERS), ORDERS + 1);
        } catch (RuntimeException error) {
            System.out.println("refused " + refusal(error).getStatus());
        }
    }

    /** An order with the schema, which is registered. */
    private static byte[] serialize(String url, String topic, String json, long amount) {
        Schema schema = new Schema.Parser().parse(json);
        GenericRecord order = new GenericData.Record(schema);
        schema.getFields().forEach(field -> order.put(field.name(), "new"));
        order.put("amount", amount);
        return ConfluentRegistryAvroSerializationSchema.forGeneric(topic + "-value", schema, url).serialize(order);
    }

    private static RestClientException refusal(Throwable error) {
        return error instanceof RestClientException found ? found : refusal(error.getCause());
    }

    private static void read(Map<String, Object> settings, String url, String topic) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(url, 10);
                KafkaConsumer<byte[], byte[]> consumer =
                        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            while (consumer.position(partition) < ORDERS) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    int id = ByteBuffer.wrap(record.value()).getInt(1);
                    Schema schema = (Schema) client.getSchemaById(id).rawSchema();
                    System.out.println("order " + id + " " + ConfluentRegistryAvroDeserializationSchema
                            .forGeneric(schema, url).deserialize(record.value()));
                }
            }
        }
    }
}

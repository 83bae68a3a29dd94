import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.schemaregistry.protobuf.ProtobufSchema;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import io.confluent.kafka.serializers.protobuf.KafkaProtobufDeserializer;
import io.confluent.kafka.serializers.protobuf.KafkaProtobufSerializer;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * Writes and reads orders through Confluent's serializers of Avro and Protobuf.
 *
 *   ConfluentSerializers STEP ADDRESS REGISTRY_URL TOPIC LANGUAGE [SCHEMA...]
 *
 * STEP is write or read; tests/compat/serializers/test_serializers.py says what each prints.
 */
public final class ConfluentSerializers {
    private static final int ORDERS = 2;

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[1]);
        settings.put("schema.registry.url", arguments[2]);
        boolean isAvro = arguments[4].equals("AVRO");
        if (arguments[0].equals("write")) {
            write(settings, arguments[3], isAvro, List.of(arguments).subList(5, arguments.length));
        } else {
            read(settings, arguments[3], isAvro);
        }
    }

    private static void write(Map<String, Object> settings, String topic, boolean isAvro, List<String> schemas)
            throws Exception {
        settings.put("key.serializer", ByteArraySerializer.class);
        settings.put("value.serializer", isAvro ? KafkaAvroSerializer.class : KafkaProtobufSerializer.class);
        try (KafkaProducer<byte[], Object> producer = new KafkaProducer<>(settings)) {
            for (int version = 0; version < schemas.size(); version++) {
                Object order = isAvro ? record(schemas.get(version), version) : message(schemas.get(version), version);
                try {
                    producer.send(new ProducerRecord<>(topic, 0, null, order)).get();
                } catch (RuntimeException error) {
                    System.out.println("refused " + refusal(error).getStatus());
                }
            }
        }
    }

    private static Object record(String json, int version) {
        Schema schema = new Schema.Parser().parse(json);
        GenericData.Record order = new GenericData.Record(schema);
        schema.getFields().forEach(field -> order.put(field.name(), "new"));
        order.put("amount", version + 1L);
        return order;
    }

    private static Object message(String proto, int version) {
        Descriptor order = new ProtobufSchema(proto).toDescriptor();
        DynamicMessage.Builder message = DynamicMessage.newBuilder(order);
        for (FieldDescriptor field : order.getFields())
            message.setField(field, field.getJavaType() == JavaType.STRING ? (Object) "new" : version + 1L);
        return message.build();
    }

    private static RestClientException refusal(Throwable error) {
        return error instanceof RestClientException found ? found : refusal(error.getCause());
    }

    private static void read(Map<String, Object> settings, String topic, boolean isAvro) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Deserializer<?> deserializer = isAvro ? new KafkaAvroDeserializer() : new KafkaProtobufDeserializer<>();
                KafkaConsumer<byte[], byte[]> consumer =
                        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            deserializer.configure(settings, false);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            while (consumer.position(partition) < ORDERS) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    int id = ByteBuffer.wrap(record.value()).getInt(1);
                    System.out.println("order " + id + " " + json(deserializer.deserialize(topic, record.value())));
                }
            }
        }
    }

    private static String json(Object order) throws Exception {
        if (!(order instanceof Message message))
            return order.toString();
        Map<String, Object> fields = new TreeMap<>();
        message.getAllFields().forEach((field, value) -> fields.put(field.getName(), value));
        return new ObjectMapper().writeValueAsString(fields);
    }
}

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Who uses the broker while it is administered: producers, some with a transaction open, and members of groups. */
final class Inhabitants implements AutoCloseable {
    static final long LONG_AGO_MS = 1_700_000_000_000L;

    private final String address;
    private final List<AutoCloseable> open = new ArrayList<>();

    Inhabitants(String address) {
        this.address = address;
    }

    /** Writes records of given times, relative to LONG_AGO_MS. */
    void write(String topic, int partition, long... times) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            for (long time : times) {
                producer.send(new ProducerRecord<>(topic, partition, LONG_AGO_MS + time, null, new byte[1])).get();
            }
        }
    }

    /** Leaves a transaction open that has written one record. */
    void leaveOpen(String transactionalId, String topic, int partition) throws Exception {
        KafkaProducer<byte[], byte[]> producer =
            producer(Map.of("transactional.id", transactionalId, "transaction.timeout.ms", 600_000));
        open.add(() -> producer.close(Duration.ZERO));
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(topic, partition, LONG_AGO_MS, null, new byte[1])).get();
    }

    /** Joins a classic group as its only member; returns once it has partitions. */
    void join(String group, String topic, String instanceId) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", address, "group.id", group,
            "client.id", "member", "enable.auto.commit", false, "auto.offset.reset", "earliest"));
        if (instanceId != null) {
            settings.put("group.instance.id", instanceId);
        }
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        open.add(() -> consumer.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ZERO)));
        consumer.subscribe(List.of(topic));
        while (consumer.assignment().isEmpty()) {
            consumer.poll(Duration.ofMillis(100));
        }
    }

    private KafkaProducer<byte[], byte[]> producer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("bootstrap.servers", address);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable each : open) {
            each.close();
        }
    }
}

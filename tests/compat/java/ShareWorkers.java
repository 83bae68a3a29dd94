import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Two members of a share group: java ShareWorkers HOST:PORT TOPIC GROUP. They accept all records of a topic with one
 * partition, and print "delivered OFFSET" for each, then "accepted OFFSET" or, if that was not confirmed, "unknown
 * OFFSET". End its input to end it.
 */
class ShareWorkers {
    private static volatile boolean isEnding;

    public static void main(String[] arguments) throws Exception {
        Thread[] workers = new Thread[2];
        for (int number = 0; number < workers.length; number++) {
            workers[number] = new Thread(() -> work(arguments[0], arguments[1], arguments[2]));
            workers[number].start();
        }
        while (System.in.read() >= 0) {
            continue;
        }
        isEnding = true;
        for (Thread worker : workers) {
            worker.join();
        }
        System.out.println("done");
    }

    private static void work(String address, String topic, String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("max.poll.records", "5");
        settings.put("reconnect.backoff.max.ms", "100");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(settings, bytes, bytes)) {
            consumer.subscribe(List.of(topic));
            while (!isEnding) {
                accept(consumer);
            }
        }
    }

    private static void accept(KafkaShareConsumer<byte[], byte[]> consumer) {
        List<Long> offsets = new java.util.ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
            System.out.println("delivered " + record.offset());
            consumer.acknowledge(record, AcknowledgeType.ACCEPT);
            offsets.add(record.offset());
        }
        if (offsets.isEmpty()) {
            return;
        }
        Map<TopicIdPartition, Optional<KafkaException>> results = consumer.commitSync();
        boolean isConfirmed = !results.isEmpty() && results.values().stream().allMatch(Optional::isEmpty);
        offsets.forEach(offset -> System.out.println((isConfirmed ? "accepted " : "unknown ") + offset));
    }
}

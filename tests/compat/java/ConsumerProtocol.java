import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Consumers of the consumer group protocol (KIP-848): ADDRESS TOPIC GROUP COUNT.
 *
 * One of them subscribes by name and reads COUNT records, which it commits; a static one subscribes by a regular
 * expression. A line tells what each has once they share the partitions, and one more who is left when the second is
 * closed.
 */
public final class ConsumerProtocol {
    public static void main(String[] arguments) {
        String address = arguments[0];
        String topic = arguments[1];
        String group = arguments[2];
        try (KafkaConsumer<String, String> first = consumer(address, group, null);
             KafkaConsumer<String, String> second = consumer(address, group, "static")) {
            first.subscribe(List.of(topic));
            for (int found = 0; found < Integer.parseInt(arguments[3]);) {
                for (ConsumerRecord<String, String> record : first.poll(Duration.ofMillis(100))) {
                    found++;
                }
            }
            first.commitSync();
            System.out.println("alone " + told(first));
            int count = first.assignment().size();
            second.subscribe(new SubscriptionPattern(topic + "|other"));
            while (second.assignment().isEmpty() || first.assignment().size() + second.assignment().size() != count) {
                first.poll(Duration.ofMillis(100));
                second.poll(Duration.ofMillis(100));
            }
            System.out.println("shared " + told(first) + " " + told(second));
        }
    }

    private static KafkaConsumer<String, String> consumer(String address, String group, String instance) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        settings.put("group.id", group);
        settings.put("group.protocol", "consumer");
        settings.put("auto.offset.reset", "earliest");
        if (instance != null) {
            settings.put("group.instance.id", instance);
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static String told(KafkaConsumer<String, String> consumer) {
        return new TreeSet<>(consumer.assignment().stream().map(TopicPartition::partition).toList())
            .stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Consumers that are moved from one group protocol to the other and back, one at a time: ADDRESS TOPIC GROUP PARTITIONS.
 *
 * With each turn of polls a record is written. A line tells what the group is after each move, and of which members
 * the coordinator says that they use the new protocol; the last, how many records were written and read.
 */
public final class Migration {
    private static final int MEMBERS = 2;

    private final String address;
    private final String topic;
    private final String group;
    private final int partitions;
    private final List<KafkaConsumer<String, String>> members = new ArrayList<>();
    private final KafkaProducer<String, String> producer;
    private final BitSet read = new BitSet();
    private int written;

    private Migration(String[] arguments) {
        address = arguments[0];
        topic = arguments[1];
        group = arguments[2];
        partitions = Integer.parseInt(arguments[3]);
        producer = new KafkaProducer<>(settings(), new StringSerializer(), new StringSerializer());
    }

    public static void main(String[] arguments) throws Exception {
        new Migration(arguments).run();
    }

    private void run() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            for (int number = 0; number < MEMBERS; number++) {
                join("classic");
            }
            pollUntilShared();
            for (String protocol : List.of("consumer", "classic")) {
                for (int moved = 0; moved < MEMBERS; moved++) {
                    members.remove(0).close();
                    join(protocol);
                    pollUntilShared();
                    tell(admin);
                }
            }
        }
        producer.flush();
        int all = written;
        while (read.cardinality() < all) {
            poll();
        }
        System.out.println("read all of " + (all > 0 ? "them" : "nothing"));
        members.forEach(KafkaConsumer::close);
        producer.close();
    }

    private void join(String protocol) {
        Properties settings = settings();
        settings.put("group.id", group);
        settings.put("group.protocol", protocol);
        settings.put("auto.offset.reset", "earliest");
        if (protocol.equals("classic")) {
            settings.put("heartbeat.interval.ms", "100");
            settings.put("session.timeout.ms", "10000");
        }
        KafkaConsumer<String, String> member =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        member.subscribe(List.of(topic));
        members.add(member);
    }

    private void pollUntilShared() {
        while (!members.stream().allMatch(each -> each.assignment().size() == partitions / MEMBERS)) {
            producer.send(new ProducerRecord<>(topic, written % partitions, null, String.valueOf(written)));
            written++;
            poll();
        }
    }

    private void poll() {
        for (KafkaConsumer<String, String> member : members) {
            for (ConsumerRecord<String, String> record : member.poll(Duration.ofMillis(50))) {
                read.set(Integer.parseInt(record.value()));
            }
        }
    }

    private void tell(Admin admin) throws Exception {
        ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        String upgraded = found.members().stream()
            .map(each -> each.upgraded().map(String::valueOf).orElse("-"))
            .sorted().collect(Collectors.joining(","));
        System.out.println(found.type() + " " + upgraded);
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        return settings;
    }
}

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a group that tells what it sees: PIPE OWNER ADDRESS TOPIC KIND SESSION_TIMEOUT_MS HEARTBEAT_INTERVAL_MS
 * INSTANCE. It leaves when stdin ends. What it tells is described in chaos/programs.py.
 */
public final class GroupMember implements ConsumerRebalanceListener {
    private static final int COMMIT_EVERY = 5;
    private static volatile boolean isWanted = true;

    private final FileOutputStream pipe;
    private final String owner;
    private final String topic;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Map<Integer, Long> nextOffsets = new TreeMap<>();

    private GroupMember(String[] arguments) throws IOException {
        pipe = new FileOutputStream(arguments[0], true);
        owner = arguments[1];
        topic = arguments[3];
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[2]);
        settings.put("group.id", topic);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        if (arguments[4].equals("consumer")) {
            settings.put("group.protocol", "consumer");
        } else {
            String assignor = arguments[4].equals("cooperative") ? "CooperativeStickyAssignor" : "RangeAssignor";
            settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
            settings.put("session.timeout.ms", arguments[5]);
            settings.put("heartbeat.interval.ms", arguments[6]);
        }
        if (!arguments[7].equals("-")) {
            settings.put("group.instance.id", arguments[7]);
        }
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws IOException {
        GroupMember member = new GroupMember(arguments);
        Thread watch = new Thread(GroupMember::awaitEndOfInput);
        watch.setDaemon(true);
        watch.start();
        member.live();
    }

    private static void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) { }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } finally {
            isWanted = false;
        }
    }

    private void live() {
        try (consumer) {
            consumer.subscribe(List.of(topic), this);
            for (int turn = 1; isWanted; turn++) {
                read(consumer.poll(Duration.ofMillis(50)));
                if (turn % COMMIT_EVERY == 0) {
                    commit(nextOffsets);
                }
            }
        }
    }

    private void read(ConsumerRecords<byte[], byte[]> records) {
        for (TopicPartition partition : records.partitions()) {
            List<ConsumerRecord<byte[], byte[]>> found = records.records(partition);
            for (ConsumerRecord<byte[], byte[]> record : found) {
                tell("read", record.partition() + "\t" + record.offset());
            }
            nextOffsets.put(partition.partition(), found.get(found.size() - 1).offset() + 1);
        }
    }

    private void commit(Map<Integer, Long> offsets) {
        if (offsets.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> wanted = new TreeMap<>((one, other) -> one.partition() - other.partition());
        offsets.forEach((number, offset) -> wanted.put(new TopicPartition(topic, number), new OffsetAndMetadata(offset)));
        try {
            consumer.commitSync(wanted, Duration.ofSeconds(5));
        } catch (CommitFailedException error) {
            tell("out", ""); // the group goes on without this member
            return;
        } catch (KafkaException error) { // the group is in a rebalance, or the broker is away
            return;
        }
        tell("committed", offsets.entrySet().stream()
            .map(each -> each.getKey() + ":" + each.getValue()).collect(Collectors.joining(",")));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        tell("given", consumer.groupMetadata().generationId() + "\t" + numbers(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        Map<Integer, Long> left = new TreeMap<>(nextOffsets);
        left.keySet().retainAll(partitions.stream().map(TopicPartition::partition).toList());
        commit(left);
        take("taken", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        take("lost", partitions);
    }

    private void take(String how, Collection<TopicPartition> partitions) {
        nextOffsets.keySet().removeAll(partitions.stream().map(TopicPartition::partition).toList());
        tell(how, numbers(partitions));
    }

    private static String numbers(Collection<TopicPartition> partitions) {
        return partitions.stream().map(each -> String.valueOf(each.partition())).collect(Collectors.joining(","));
    }

    /** One write for a line, so that lines of several programs do not mix. */
    private void tell(String what, String words) {
        try {
            pipe.write((owner + "\t" + what + "\t" + words + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}

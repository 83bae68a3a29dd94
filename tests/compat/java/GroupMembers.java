import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Members of groups, each in a thread of its own, that tell what happens to them, in the order in which it happens.
 *
 * Lines of tab-separated words on stdin; NAME is the member's, PROTOCOL "classic" or "consumer":
 *
 *   join NAME ADDRESS TOPIC GROUP PROTOCOL SESSION_TIMEOUT_MS
 *   leave NAME
 *
 * Lines on stdout, where PARTITIONS are numbers with commas between them:
 *
 *   NAME given GENERATION PARTITIONS      NAME taken PARTITIONS     NAME lost PARTITIONS
 *   NAME read PARTITION OFFSET            NAME committed PARTITION=OFFSET,…
 *   NAME out                              a commit was refused, for the group goes on without it
 *   NAME left                             or "failed" and why
 */
public final class GroupMembers {
    private static final int COMMIT_EVERY = 5;
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            if (words[0].equals("join")) {
                Member member = new Member(words);
                MEMBERS.put(words[1], member);
                member.start();
            } else {
                MEMBERS.remove(words[1]).isWanted = false;
            }
        }
    }

    private static synchronized void say(Object... words) {
        System.out.println(List.of(words).stream().map(Object::toString).collect(Collectors.joining("\t")));
        System.out.flush();
    }

    private static final class Member extends Thread implements ConsumerRebalanceListener {
        private final String name;
        private final String topic;
        private final Properties settings = new Properties();
        private final Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        private KafkaConsumer<byte[], byte[]> consumer;
        volatile boolean isWanted = true;

        Member(String[] words) {
            name = words[1];
            topic = words[3];
            settings.put("bootstrap.servers", words[2]);
            settings.put("group.id", words[4]);
            settings.put("group.protocol", words[5]);
            if (words[5].equals("classic")) {
                settings.put("session.timeout.ms", words[6]);
                settings.put("heartbeat.interval.ms", "200");
            }
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
        }

        @Override
        public void run() {
            try (KafkaConsumer<byte[], byte[]> opened =
                    new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                consumer = opened;
                consumer.subscribe(List.of(topic), this);
                for (int turn = 1; isWanted; turn++) {
                    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
                        say(name, "read", record.partition(), record.offset());
                        positions.put(new TopicPartition(topic, record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                    }
                    if (turn % COMMIT_EVERY == 0) {
                        commit(positions);
                    }
                }
            } catch (RuntimeException failure) {
                failure.printStackTrace();
                say(name, "failed", failure);
                return;
            }
            say(name, "left");
        }

        private void commit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            if (offsets.isEmpty()) {
                return;
            }
            try {
                consumer.commitSync(offsets);
                say(name, "committed", offsets.entrySet().stream()
                    .map(each -> each.getKey().partition() + "=" + each.getValue().offset())
                    .collect(Collectors.joining(",")));
            } catch (CommitFailedException out) {
                say(name, "out");
            } catch (KafkaException again) { // the group is in a rebalance, say
                again.printStackTrace();
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            say(name, "given", consumer.groupMetadata().generationId(), numbers(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            Map<TopicPartition, OffsetAndMetadata> revoked = new HashMap<>(positions);
            revoked.keySet().retainAll(partitions);
            commit(revoked);
            positions.keySet().removeAll(partitions);
            say(name, "taken", numbers(partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            positions.keySet().removeAll(partitions);
            say(name, "lost", numbers(partitions));
        }

        private static String numbers(Collection<TopicPartition> partitions) {
            return partitions.stream().map(each -> Integer.toString(each.partition())).collect(Collectors.joining(","));
        }
    }
}

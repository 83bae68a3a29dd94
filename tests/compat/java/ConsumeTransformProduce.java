import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The classic consume-transform-produce: what is read at read_committed is sent on in capitals, and the offsets with it.
 *
 *   ConsumeTransformProduce ADDRESS TRANSACTIONAL_ID GROUP FROM TO FORM
 *
 * FORM says how sendOffsetsToTransaction is called: with the group's "metadata", or with its "name" as before 2.5.
 * A value that ends with "?" fails when it is first met, after it was sent; the whole transaction is done again then.
 * Prints "ready", then "committed COUNT" or "aborted" for each transaction. When another instance has taken over it
 * prints "fenced" and ends with status 3. It learns that from any error that lets it not even abort: usually the
 * producer is fenced, but when the other came between two transactions, ending one is said to be in no valid state.
 */
public final class ConsumeTransformProduce {
    private static final int FENCED = 3;
    private static final int AT_ONCE = 20;

    private final String group;
    private final String target;
    private final boolean byName;
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;
    private final Set<String> failedBefore = new HashSet<>();

    private ConsumeTransformProduce(String[] arguments) {
        group = arguments[2];
        target = arguments[4];
        byName = arguments[5].equals("name");
        Properties ofProducer = new Properties();
        ofProducer.put("bootstrap.servers", arguments[0]);
        ofProducer.put("transactional.id", arguments[1]);
        Properties ofConsumer = new Properties();
        ofConsumer.put("bootstrap.servers", arguments[0]);
        ofConsumer.put("group.id", group);
        ofConsumer.put("isolation.level", "read_committed");
        ofConsumer.put("enable.auto.commit", "false");
        ofConsumer.put("auto.offset.reset", "earliest");
        ofConsumer.put("max.poll.records", Integer.toString(AT_ONCE));
        ofConsumer.put("session.timeout.ms", "2000");
        ofConsumer.put("heartbeat.interval.ms", "500");
        producer = new KafkaProducer<>(ofProducer, new StringSerializer(), new StringSerializer());
        consumer = new KafkaConsumer<>(ofConsumer, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(arguments[3]));
    }

    public static void main(String[] arguments) throws Exception {
        ConsumeTransformProduce program = new ConsumeTransformProduce(arguments);
        program.producer.initTransactions();
        System.out.println("ready");
        try {
            while (true) {
                ConsumerRecords<String, String> records = program.consumer.poll(Duration.ofMillis(200));
                if (!records.isEmpty()) {
                    program.transform(records);
                }
            }
        } catch (Fenced over) {
            over.printStackTrace();
            System.out.println("fenced");
            System.exit(FENCED);
        }
    }

    private static final class Fenced extends RuntimeException {
        Fenced(KafkaException cause) {
            super(cause);
        }
    }

    private void transform(ConsumerRecords<String, String> records) throws Exception {
        try {
            producer.beginTransaction();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<String, String> record : records) {
                String value = record.value();
                producer.send(new ProducerRecord<>(target, record.partition(), record.key(), value.toUpperCase()));
                if (value.endsWith("?") && failedBefore.add(value)) {
                    throw new IllegalStateException("cannot answer " + value);
                }
                offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
            }
            producer.flush(); // or the oldest client lets sendOffsets wait in vain, where what was sent is refused
            sendOffsets(offsets);
            producer.commitTransaction();
            System.out.println("committed " + records.count());
        } catch (ProducerFencedException over) {
            throw new Fenced(over);
        } catch (RuntimeException failure) {
            abort();
            rewind();
            System.out.println("aborted " + failure);
        }
    }

    private void abort() {
        try {
            producer.abortTransaction();
        } catch (KafkaException over) {
            throw new Fenced(over);
        }
    }

    /** The old form is not in the newest clients, so it is looked for. */
    private void sendOffsets(Map<TopicPartition, OffsetAndMetadata> offsets) throws ReflectiveOperationException {
        if (!byName) {
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            return;
        }
        try {
            producer.getClass().getMethod("sendOffsetsToTransaction", Map.class, String.class)
                .invoke(producer, offsets, group);
        } catch (java.lang.reflect.InvocationTargetException failure) {
            throw (RuntimeException) failure.getCause();
        }
    }

    /** Go back to where the group stands, or to the beginning. */
    private void rewind() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(partition);
            if (offset == null) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, offset.offset());
            }
        }
    }
}

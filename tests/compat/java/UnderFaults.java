import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Programs that a fault meets. A line "NUMBER SCENARIO ADDRESS" on stdin plays one, in a thread of its own; a line
 * "NUMBER OUTCOME" on stdout tells how it went. There are tabs between the words.
 *
 * A scenario does what a careful program does: a call that fails with a retriable error is made again. Its outcome is
 * "goes on" where the program had to do nothing, "tries again" where it had to, and else the name of its error: Kafka's
 * or, where Kafka's protocol has none, that of the exception.
 */
public final class UnderFaults {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int TRIES = 5;
    private static final TopicPartition GIVEN = new TopicPartition("given", 0);
    private static final Map<TopicPartition, OffsetAndMetadata> OFFSETS = Map.of(GIVEN, new OffsetAndMetadata(1));

    /** A call of the client. */
    private interface Call {
        void make() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            new Thread(() -> System.out.println(words[0] + "\t" + outcome(words[1], words[2]))).start();
        }
    }

    private static String outcome(String scenario, String address) {
        try {
            return play(scenario, address) ? "tries again" : "goes on";
        } catch (Exception failure) {
            failure.printStackTrace(); // is looked at where the outcome is not the one that was expected
            return name(failure);
        }
    }

    private static boolean play(String scenario, String address) throws Exception {
        return switch (scenario) {
            case "produce" -> produce(address);
            case "fetch" -> fetch(address);
            case "joinGroup" -> joinGroup(address);
            case "offsetCommit" -> offsetCommit(address);
            case "initProducerId" -> initProducerId(address);
            case "transaction" -> transaction(address);
            case "nextTransaction" -> nextTransaction(address);
            default -> throw new IllegalArgumentException(scenario);
        };
    }

    /** An idempotent producer sends a record. */
    private static boolean produce(String address) throws Exception {
        try (Producer<String, String> producer = producer(address, Map.of())) {
            Future<?> sent = send(producer);
            return called(sent::get);
        }
    }

    /** A consumer reads a partition. */
    private static boolean fetch(String address) throws Exception {
        try (Consumer<String, String> consumer = consumer(address, "fetching")) {
            consumer.assign(List.of(GIVEN));
            return read(consumer);
        }
    }

    /** A member of a group reads a topic. */
    private static boolean joinGroup(String address) throws Exception {
        try (Consumer<String, String> consumer = consumer(address, "joining")) {
            consumer.subscribe(List.of(GIVEN.topic()));
            return read(consumer);
        }
    }

    /** A consumer commits an offset and waits for the answer. */
    private static boolean offsetCommit(String address) throws Exception {
        try (Consumer<String, String> consumer = consumer(address, "committing")) {
            return called(() -> consumer.commitSync(OFFSETS));
        }
    }

    /** A transactional producer begins. */
    private static boolean initProducerId(String address) throws Exception {
        try (Producer<String, String> producer = transactional(address)) {
            return called(producer::initTransactions);
        }
    }

    /** A record and an offset are committed in a transaction. Of AddPartitionsToTxn, TxnOffsetCommit and EndTxn. */
    private static boolean transaction(String address) throws Exception {
        try (Producer<String, String> producer = transactional(address);
                Consumer<String, String> consumer = consumer(address, "in-transactions")) {
            producer.initTransactions();
            return commit(producer, consumer);
        }
    }

    /** A transaction fails and is aborted, and the next one is committed. */
    private static boolean nextTransaction(String address) throws Exception {
        try (Producer<String, String> producer = transactional(address);
                Consumer<String, String> consumer = consumer(address, "in-transactions")) {
            producer.initTransactions();
            try {
                commit(producer, consumer);
            } catch (KafkaException | ExecutionException failure) {
                producer.abortTransaction();
                return commit(producer, consumer);
            }
            throw new IllegalStateException("the transaction did not fail");
        }
    }

    private static boolean commit(Producer<String, String> producer, Consumer<String, String> consumer)
            throws Exception {
        producer.beginTransaction();
        Future<?> sent = send(producer);
        return called(sent::get)
            | called(() -> producer.sendOffsetsToTransaction(OFFSETS, consumer.groupMetadata()))
            | called(producer::commitTransaction);
    }

    private static Future<?> send(Producer<String, String> producer) {
        return producer.send(new ProducerRecord<>("t", 0, null, "x"));
    }

    /** Read the one record there is. */
    private static boolean read(Consumer<String, String> consumer) throws Exception {
        return called(() -> {
            if (consumer.poll(LIMIT).isEmpty()) {
                throw new IllegalStateException("nothing was read");
            }
        });
    }

    /** Whether the call had to be made again. Fails with the error that it failed with in the end. */
    private static boolean called(Call call) throws Exception {
        for (int again = 0;; again++) {
            try {
                call.make();
                return again > 0;
            } catch (RetriableException failure) {
                if (again == TRIES) {
                    throw failure;
                }
            }
        }
    }

    private static String name(Throwable failure) {
        boolean isAround = failure instanceof ExecutionException || failure.getClass() == KafkaException.class;
        if (isAround && failure.getCause() != null) {
            return name(failure.getCause());
        }
        Errors error = Errors.forException(failure);
        return error == Errors.UNKNOWN_SERVER_ERROR ? failure.getClass().getSimpleName() : error.name();
    }

    private static Producer<String, String> transactional(String address) {
        return producer(address, Map.of("transactional.id", "tx"));
    }

    private static Producer<String, String> producer(String address, Map<String, Object> more) {
        Map<String, Object> settings = settings(address, more);
        settings.put("max.block.ms", (int) LIMIT.toMillis());
        settings.put("delivery.timeout.ms", (int) LIMIT.toMillis());
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static Consumer<String, String> consumer(String address, String group) {
        Map<String, Object> settings = settings(address, Map.of("group.id", group, "enable.auto.commit", false));
        settings.put("auto.offset.reset", "earliest");
        settings.put("default.api.timeout.ms", (int) LIMIT.toMillis());
        settings.put("max.poll.interval.ms", 1000); // a JoinGroup is waited for 5 seconds longer
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static Map<String, Object> settings(String address, Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", address);
        settings.put("request.timeout.ms", 2000);
        return settings;
    }
}

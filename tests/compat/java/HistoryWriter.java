import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Producers and readers that do what lines on stdin say, and tell in lines of JSON what came of it: what the lines are
 * is told in tests/support/histories/remote.py. Each of them has a thread. It ends with stdin.
 */
public final class HistoryWriter {
    private static final int STEP_MS = 3000;
    private static final Duration POLL = Duration.ofMillis(50);
    private static final int ENDS_EVERY_MS = 100;

    private interface Call {
        void make() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Map<String, BlockingQueue<String[]>> lines = new HashMap<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            if (words[1].equals("open") || words[1].equals("read")) {
                BlockingQueue<String[]> queue = new LinkedBlockingQueue<>();
                lines.put(words[0], queue);
                new Thread(words[1].equals("open") ? () -> produce(words, queue) : () -> read(words, queue)).start();
            } else {
                lines.get(words[0]).add(words);
            }
        }
        System.exit(0); // whatever is not closed
    }

    private static void produce(String[] open, BlockingQueue<String[]> queue) {
        Map<String, Object> settings = settings(open[2]);
        settings.put("max.block.ms", STEP_MS);
        if (!open[3].isEmpty()) {
            settings.put("transactional.id", open[3]);
            settings.put("transaction.timeout.ms", Integer.parseInt(open[4]));
        }
        OneProducer one = new OneProducer(open[0], settings);
        for (String[] words = take(queue); !words[1].equals("close"); words = take(queue)) {
            one.obey(words);
        }
        one.producer.close(Duration.ZERO); // as a death: a transaction stays open
    }

    /** A producer, and how many of its records have no answer. */
    private static final class OneProducer {
        private final String number;
        private final Producer<String, String> producer;
        private int waiting;

        OneProducer(String number, Map<String, Object> settings) {
            this.number = number;
            this.producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        }

        void obey(String[] words) {
            switch (words[1]) {
                case "send" -> send(words[2], Integer.parseInt(words[3]), words[4]);
                case "init" -> answer(producer::initTransactions);
                case "begin" -> answer(producer::beginTransaction);
                case "flush" -> answer(() -> flush(Long.parseLong(words[2])));
                case "offset" -> answer(() -> producer.sendOffsetsToTransaction(
                    Map.of(
                        new TopicPartition(words[4], Integer.parseInt(words[5])),
                        new OffsetAndMetadata(Long.parseLong(words[6]))),
                    new ConsumerGroupMetadata(words[3])));
                case "commit" -> answer(producer::commitTransaction);
                case "abort" -> answer(producer::abortTransaction);
                default -> throw new IllegalArgumentException(words[1]);
            }
        }

        private void answer(Call call) {
            String error = "";
            boolean again = false;
            try {
                call.make();
            } catch (Exception failure) {
                error = failure.getClass().getSimpleName();
                again = failure instanceof RetriableException;
            }
            System.out.printf("{\"of\": %s, \"done\": \"%s\", \"again\": %s}%n", number, error, again);
        }

        private void send(String topic, int partition, String value) {
            AtomicBoolean isTold = new AtomicBoolean();
            change(1);
            try {
                producer.send(new ProducerRecord<>(topic, partition, null, value), (told, failure) ->
                    sent(value, isTold, failure == null ? told.offset() : -1, failure));
            } catch (KafkaException | IllegalStateException failure) { // it may have been taken, and be told of again
                sent(value, isTold, -1, failure);
            }
        }

        private void sent(String value, AtomicBoolean isTold, long offset, Exception failure) {
            if (isTold.getAndSet(true)) {
                return;
            }
            String error = failure == null ? "" : failure.getClass().getSimpleName();
            System.out.printf(
                "{\"of\": %s, \"sent\": \"%s\", \"offset\": %d, \"error\": \"%s\"}%n", number, value, offset, error);
            change(-1);
        }

        private synchronized void change(int by) {
            waiting += by;
            notifyAll();
        }

        /** KafkaProducer.flush may take as long as a record. */
        private synchronized void flush(long timeoutMs) throws InterruptedException {
            long until = System.nanoTime() + timeoutMs * 1_000_000;
            for (long left = timeoutMs; waiting > 0 && left > 0; left = (until - System.nanoTime()) / 1_000_000) {
                wait(left);
            }
        }
    }

    /** A consumer does not tell how far a partition can be read in a poll, so it is asked for now and then. */
    private static void read(String[] read, BlockingQueue<String[]> queue) {
        Map<String, Object> settings = settings(read[2]);
        settings.put("isolation.level", read[3]);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        List<TopicPartition> partitions = IntStream.range(0, Integer.parseInt(read[5]))
            .mapToObj(number -> new TopicPartition(read[4], number)).toList();
        try (Consumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = new HashMap<>();
            long last = 0;
            while (queue.isEmpty()) {
                show(read[0], partitions, consumer.poll(POLL), ends);
                if (System.nanoTime() - last > ENDS_EVERY_MS * 1_000_000L) {
                    last = System.nanoTime();
                    try {
                        ends.putAll(consumer.endOffsets(partitions, Duration.ofSeconds(1)));
                    } catch (TimeoutException away) {
                        continue; // so is the broker
                    }
                    show(read[0], partitions, List.of(), ends);
                }
            }
        }
    }

    /** To a reader of committed records an end is the last stable offset, to others the high watermark. */
    private static void show(
            String number,
            List<TopicPartition> partitions,
            Iterable<ConsumerRecord<String, String>> records,
            Map<TopicPartition, Long> ends) {
        Map<Integer, List<String>> told = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            told.computeIfAbsent(record.partition(), none -> new ArrayList<>())
                .add("[%d, \"%s\"]".formatted(record.offset(), record.value()));
        }
        boolean isOfEnds = told.isEmpty();
        String shown = partitions.stream()
            .filter(at -> isOfEnds ? ends.containsKey(at) : told.containsKey(at.partition()))
            .map(at -> "{\"topic\": \"%s\", \"partition\": %d, \"records\": %s, \"stable\": %d, \"high\": %d}".formatted(
                at.topic(),
                at.partition(),
                told.getOrDefault(at.partition(), List.of()),
                ends.getOrDefault(at, 0L),
                ends.getOrDefault(at, 0L)))
            .collect(Collectors.joining(", "));
        if (!shown.isEmpty()) {
            System.out.printf("{\"of\": %s, \"shown\": [%s]}%n", number, shown);
        }
    }

    private static Map<String, Object> settings(String address) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", address);
        settings.put("reconnect.backoff.max.ms", 200);
        return settings;
    }

    private static String[] take(BlockingQueue<String[]> queue) {
        try {
            return queue.take();
        } catch (InterruptedException nobody) {
            throw new IllegalStateException(nobody);
        }
    }
}

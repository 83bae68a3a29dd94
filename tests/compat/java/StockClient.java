import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client as a servant: one line of tab-separated words on stdin is a command, lines on stdout answer it, and
 * "." ends an answer. So one start of a JVM does the work of many tests. Bytes are base64, "-" is null.
 *
 *   write ADDRESS TOPIC COMPRESSION COUNT     then COUNT lines: partition timestamp key value headers; answers offsets
 *   read ADDRESS TOPIC                        answers partition offset timestamp key value headers
 *   group ADDRESS TOPIC GROUP COUNT           the same, read as a member of the group, committed
 *   stream ADDRESS TOPIC COUNT WINDOW         answers "number offset" at each acknowledgement
 */
public final class StockClient {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
    private static final String NULL = "-";

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            switch (words[0]) {
                case "write" -> write(in, words[1], words[2], words[3], Integer.parseInt(words[4]));
                case "read" -> read(words[1], words[2]);
                case "group" -> readInGroup(words[1], words[2], words[3], Integer.parseInt(words[4]));
                case "stream" -> stream(words[1], words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]));
                default -> throw new IllegalArgumentException(line);
            }
            OUT.println(".");
            OUT.flush();
        }
    }

    private static Properties settings(String address, Map<String, String> others) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        settings.putAll(others);
        return settings;
    }

    private static KafkaProducer<byte[], byte[]> producer(String address, Map<String, String> others) {
        return new KafkaProducer<>(settings(address, others), new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String address, Map<String, String> others) {
        return new KafkaConsumer<>(settings(address, others), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static void write(BufferedReader in, String address, String topic, String compression, int count)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(address, Map.of("compression.type", compression))) {
            for (int i = 0; i < count; i++) {
                String[] words = in.readLine().split("\t");
                Long timestamp = words[1].equals(NULL) ? null : Long.valueOf(words[1]);
                sent.add(producer.send(new ProducerRecord<>(topic, Integer.valueOf(words[0]), timestamp,
                    bytes(words[2]), bytes(words[3]), headers(words[4]))));
            }
        }
        for (Future<RecordMetadata> future : sent) {
            OUT.println(future.get().offset());
        }
    }

    private static void read(String address, String topic) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(address, Map.of())) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (PartitionInfo info : consumer.partitionsFor(topic)) {
                partitions.add(new TopicPartition(topic, info.partition()));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                consumer.poll(Duration.ofSeconds(1)).forEach(StockClient::print);
            }
        }
    }

    private static void readInGroup(String address, String topic, String group, int count) {
        Map<String, String> settings = Map.of("group.id", group, "auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(address, settings)) {
            consumer.subscribe(List.of(topic));
            for (int found = 0; found < count;) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    print(record);
                    found++;
                }
            }
            consumer.commitSync();
        }
    }

    private static void stream(String address, String topic, int count, int window) throws Exception {
        Semaphore free = new Semaphore(window);
        try (KafkaProducer<byte[], byte[]> producer = producer(address, Map.of("enable.idempotence", "true"))) {
            for (int i = 0; i < count; i++) {
                free.acquire();
                String number = Integer.toString(i);
                producer.send(new ProducerRecord<>(topic, number.getBytes(StandardCharsets.US_ASCII)), (stored, error) -> {
                    free.release();
                    synchronized (OUT) {
                        OUT.println(number + "\t" + (error == null ? Long.toString(stored.offset()) : error.toString()));
                        OUT.flush();
                    }
                });
            }
        }
    }

    private static void print(ConsumerRecord<byte[], byte[]> record) {
        StringBuilder headers = new StringBuilder();
        for (Header header : record.headers()) {
            headers.append(headers.length() == 0 ? "" : ",").append(header.key()).append('=').append(text(header.value()));
        }
        OUT.println(record.partition() + "\t" + record.offset() + "\t" + record.timestamp() + "\t" + text(record.key())
            + "\t" + text(record.value()) + "\t" + (headers.length() == 0 ? NULL : headers));
    }

    private static List<Header> headers(String word) {
        List<Header> headers = new ArrayList<>();
        if (!word.equals(NULL)) {
            for (String pair : word.split(",")) {
                int equals = pair.indexOf('=');
                headers.add(new RecordHeader(pair.substring(0, equals), bytes(pair.substring(equals + 1))));
            }
        }
        return headers;
    }

    /** Base64 needs no "-"; nothing at all would be lost by split, so empty bytes are "=". */
    private static String text(byte[] bytes) {
        return bytes == null ? NULL : bytes.length == 0 ? "=" : Base64.getEncoder().encodeToString(bytes);
    }

    private static byte[] bytes(String word) {
        return word.equals(NULL) ? null : word.equals("=") ? new byte[0] : Base64.getDecoder().decode(word);
    }
}

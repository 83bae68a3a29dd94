import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Load from the members of one share group, with the stock client. Prints one line of JSON.
 *
 * java ShareLoad work PORT TOPIC GROUP MEMBERS implicit|explicit RECORDS WARM_S SECONDS: accepts a backlog of RECORDS,
 * until the time or the backlog is over. "explicit" acknowledges each record and waits for the answer after each poll;
 * "implicit" acknowledges with the next poll.
 * java ShareLoad wait PORT TOPIC GROUP PER_SECOND WARM_S SECONDS: from send() to the poll() of a member that waits.
 */
class ShareLoad {
    private static final Duration POLL = Duration.ofMillis(500);
    private static final Duration IDLE = Duration.ofSeconds(120);

    private static volatile boolean isEnding;
    private static volatile RuntimeException failure;
    private static final LongAdder read = new LongAdder();

    public static void main(String[] arguments) throws Exception {
        String address = "127.0.0.1:" + arguments[1], topic = arguments[2], group = arguments[3];
        beginAtTheFirstRecord(address, group);
        if (arguments[0].equals("work")) {
            work(address, topic, group, Integer.parseInt(arguments[4]), arguments[5], Long.parseLong(arguments[6]),
                Double.parseDouble(arguments[7]), Double.parseDouble(arguments[8]));
        } else {
            hurry(address, topic, group, Integer.parseInt(arguments[4]), Double.parseDouble(arguments[5]),
                Double.parseDouble(arguments[6]));
        }
    }

    private static void beginAtTheFirstRecord(String address, String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            AlterConfigOp set = new AlterConfigOp(earliest, AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), List.of(set)))
                .all().get();
        }
    }

    private static KafkaShareConsumer<byte[], byte[]> member(String address, String topic, String group, String mode) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", mode);
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        KafkaShareConsumer<byte[], byte[]> member = new KafkaShareConsumer<>(settings, bytes, bytes);
        member.subscribe(List.of(topic));
        return member;
    }

    // --- records per second ---

    private static void work(
        String address, String topic, String group, int members, String mode, long backlog, double warmS, double seconds
    ) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < members; number++) {
            threads.add(new Thread(() -> accept(address, topic, group, mode)));
        }
        threads.forEach(Thread::start);
        long idleSince = System.nanoTime();
        while (read.sum() == 0 && failure == null) {
            if (System.nanoTime() - idleSince > IDLE.toNanos()) {
                failure = new IllegalStateException("no record in " + IDLE);
            }
            Thread.sleep(1);
        }
        until(System.nanoTime() + nanos(warmS), backlog);
        long begun = System.nanoTime(), before = read.sum();
        until(begun + nanos(seconds), backlog);
        long ended = System.nanoTime(), after = read.sum();
        isEnding = true;
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure != null) {
            throw failure;
        }
        if (after == before) {
            throw new IllegalStateException("the backlog was over before the measurement");
        }
        System.out.printf("{\"messages\": %d, \"per_second\": %.1f}%n", read.sum(), (after - before) * 1e9 / (ended - begun));
    }

    private static long nanos(double seconds) {
        return (long) (seconds * 1e9);
    }

    private static void until(long deadline, long backlog) throws InterruptedException {
        while (System.nanoTime() < deadline && read.sum() < backlog && failure == null) {
            Thread.sleep(1);
        }
    }

    private static void accept(String address, String topic, String group, String mode) {
        boolean isExplicit = mode.equals("explicit");
        try (KafkaShareConsumer<byte[], byte[]> member = member(address, topic, group, mode)) {
            while (!isEnding && failure == null) {
                ConsumerRecords<byte[], byte[]> records = member.poll(POLL);
                if (isExplicit && !records.isEmpty()) {
                    records.forEach(member::acknowledge);
                    member.commitSync().values().forEach(error -> error.ifPresent(each -> failure = each));
                }
                read.add(records.count());
            }
        } catch (RuntimeException error) {
            failure = error;
        }
    }

    // --- the way from a producer to a member ---

    private static void hurry(
        String address, String topic, String group, int perSecond, double warmS, double seconds
    ) throws Exception {
        CountDownLatch isReady = new CountDownLatch(1);
        int warming = (int) (warmS * perSecond), count = warming + (int) (seconds * perSecond);
        long[] waits = new long[count];
        Thread reader = new Thread(() -> receive(address, topic, group, waits, isReady));
        reader.start();
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        settings.put("acks", "1");
        settings.put("linger.ms", "0");
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            isReady.await();
            long next = System.nanoTime();
            for (int number = 0; number < count && failure == null; number++, next += 1_000_000_000L / perSecond) {
                java.util.concurrent.locks.LockSupport.parkNanos(next - System.nanoTime());
                ByteBuffer value = ByteBuffer.allocate(100).putInt(number).putLong(System.nanoTime());
                producer.send(new ProducerRecord<>(topic, value.array()));
            }
            producer.flush();
        }
        reader.join();
        if (failure != null) {
            throw failure;
        }
        long[] measured = Arrays.copyOfRange(waits, warming, count);
        Arrays.sort(measured);
        System.out.printf("{\"messages\": %d, \"p50_us\": %.1f, \"p99_us\": %.1f}%n", count,
            measured[measured.length / 2] / 1e3, measured[measured.length * 99 / 100] / 1e3);
    }

    private static void receive(String address, String topic, String group, long[] waits, CountDownLatch isReady) {
        int left = waits.length;
        try (KafkaShareConsumer<byte[], byte[]> member = member(address, topic, group, "implicit")) {
            long last = System.nanoTime();
            while (left > 0) {
                ConsumerRecords<byte[], byte[]> records = member.poll(POLL);
                long now = System.nanoTime();
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    isReady.countDown(); // the first one is that with which the topic was made
                    if (record.value().length == 100) {
                        ByteBuffer value = ByteBuffer.wrap(record.value());
                        waits[value.getInt()] = now - value.getLong();
                        left--;
                    }
                    last = now;
                }
                if (now - last > IDLE.toNanos()) {
                    throw new IllegalStateException("no record in " + IDLE);
                }
            }
        } catch (RuntimeException error) {
            failure = error;
            isReady.countDown();
        }
    }
}

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A queue whose failed jobs become dead letters: java DeadLetters HOST:PORT. */
class DeadLetters {
    private static final ConfigResource GROUP = new ConfigResource(ConfigResource.Type.GROUP, "workers");
    private static final ConfigResource EVERY_BROKER = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final String TOPIC_OF_GROUP = "errors.deadletterqueue.topic.name";
    private static final String ENABLED = "errors.deadletterqueue.group.enable";

    private final Properties where = new Properties();
    private final Admin admin;
    private final KafkaProducer<String, String> producer;
    private final KafkaShareConsumer<String, String> worker;

    private DeadLetters(String address) {
        where.put("bootstrap.servers", address);
        admin = Admin.create(where);
        producer = new KafkaProducer<>(where, new StringSerializer(), new StringSerializer());
        Properties settings = new Properties();
        settings.putAll(where);
        settings.put("group.id", "workers");
        settings.put("share.acknowledgement.mode", "explicit");
        worker = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        DeadLetters program = new DeadLetters(arguments[0]);
        try {
            program.run();
        } finally {
            program.worker.close();
            program.producer.close();
            program.admin.close();
        }
    }

    private void run() throws Exception {
        NewTopic queue = new NewTopic("dlq.jobs", 1, (short) 1).configs(Map.of(ENABLED, "true"));
        admin.createTopics(List.of(new NewTopic("jobs", 1, (short) 1), queue)).all().get();
        set(GROUP, "share.auto.offset.reset", "earliest");
        set(GROUP, TOPIC_OF_GROUP, "dlq.jobs");
        set(GROUP, "errors.deadletterqueue.copy.record.enable", "true");
        worker.subscribe(List.of("jobs"));

        System.out.println("-- a job that is rejected, and one that always fails");
        work("good", "bad", "worn");
        show("dlq.jobs", 2);

        System.out.println("-- a topic that the broker creates, without copies");
        set(EVERY_BROKER, "errors.deadletterqueue.auto.create.topics.enable", "true");
        set(GROUP, "errors.deadletterqueue.copy.record.enable", "false");
        set(GROUP, TOPIC_OF_GROUP, "dlq.made");
        work("bad");
        show("dlq.made", 1);
        System.out.println(configsOf("dlq.made"));

        System.out.println("-- a topic that may have no dead letters");
        set(GROUP, TOPIC_OF_GROUP, "made");
        work("bad");
        waitForNoLag();
        System.out.println("topics: " + admin.listTopics().names().get().stream().sorted().toList());
    }

    private void set(ConfigResource resource, String name, String value) throws Exception {
        AlterConfigOp change = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
        Config now;
        do {
            now = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        } while (now.get(name) == null || !value.equals(now.get(name).value()));
    }

    /** Produces jobs and works until all of them have ended. */
    private void work(String... jobs) throws Exception {
        for (String job : jobs) {
            producer.send(new ProducerRecord<>("jobs", "key of " + job, job)).get();
        }
        int ended = 0;
        while (ended < jobs.length) {
            for (ConsumerRecord<String, String> job : worker.poll(Duration.ofSeconds(1))) {
                int delivery = job.deliveryCount().get();
                AcknowledgeType type = switch (job.value()) {
                    case "good" -> AcknowledgeType.ACCEPT;
                    case "bad" -> AcknowledgeType.REJECT;
                    default -> AcknowledgeType.RELEASE;
                };
                worker.acknowledge(job, type);
                System.out.println(job.value() + ", delivery " + delivery + ": " + type);
                ended += type == AcknowledgeType.RELEASE && delivery < 5 ? 0 : 1;
            }
            worker.commitSync().values().forEach(error -> error.ifPresent(System.out::println));
        }
    }

    /** Prints so many dead letters, once they are there. */
    private void show(String topic, int count) throws Exception {
        while (!admin.listTopics().names().get().contains(topic)) {
            Thread.onSpinWait();
        }
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> reader =
                 new KafkaConsumer<>(where, new StringDeserializer(), new StringDeserializer())) {
            reader.assign(List.of(partition));
            reader.seekToBeginning(List.of(partition));
            for (int shown = 0; shown < count; ) {
                for (ConsumerRecord<String, String> letter : reader.poll(Duration.ofSeconds(1))) {
                    System.out.println(topic + ": " + letter.key() + " = " + letter.value());
                    for (Header header : letter.headers()) {
                        System.out.println("    " + header.key() + ": " + new String(header.value()));
                    }
                    shown++;
                }
            }
        }
    }

    private Map<String, String> configsOf(String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Map<String, String> own = new TreeMap<>();
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            if (entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) {
                own.put(entry.name(), entry.value());
            }
        }
        return own;
    }

    private void waitForNoLag() throws Exception {
        TopicPartition jobs = new TopicPartition("jobs", 0);
        long lag;
        do {
            lag = admin.listShareGroupOffsets(Map.of("workers", new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo("workers").get().get(jobs).lag().orElse(-1L);
        } while (lag != 0);
        System.out.println("jobs-0: lag " + lag);
    }
}

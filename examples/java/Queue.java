import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A queue of ten jobs, one of which always fails: java Queue HOST:PORT. */
class Queue {
    public static void main(String[] arguments) throws Exception {
        Properties where = new Properties();
        where.put("bootstrap.servers", arguments[0]);
        try (Admin admin = Admin.create(where)) {
            admin.createTopics(List.of(new NewTopic("jobs", 1, (short) 1))).all().get();
            ConfigResource workers = new ConfigResource(ConfigResource.Type.GROUP, "workers");
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            AlterConfigOp fromTheFirst = new AlterConfigOp(earliest, AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(workers, List.of(fromTheFirst))).all().get();
            try (KafkaProducer<String, String> producer =
                     new KafkaProducer<>(where, new StringSerializer(), new StringSerializer())) {
                for (int number = 0; number < 10; number++) {
                    producer.send(new ProducerRecord<>("jobs", "job " + number)).get();
                }
            }
            work(where);
            var group = admin.describeShareGroups(List.of("workers")).all().get().get("workers");
            System.out.println("workers: " + group.groupState());
            admin.listShareGroupOffsets(Map.of("workers", new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo("workers").get()
                .forEach((partition, offset) -> System.out.println(partition + ": lag " + offset.lag().get()));
            admin.deleteShareGroups(List.of("workers")).all().get();
            System.out.println("groups left: " + admin.listGroups().all().get());
        }
    }

    private static void work(Properties where) {
        Properties settings = new Properties();
        settings.putAll(where);
        settings.put("group.id", "workers");
        settings.put("share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<String, String> consumer =
                 new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("jobs"));
            int finished = 0;
            while (finished < 10) {
                for (ConsumerRecord<String, String> job : consumer.poll(Duration.ofSeconds(1))) {
                    boolean fails = job.value().equals("job 3");
                    int delivery = job.deliveryCount().get();
                    AcknowledgeType type = !fails ? AcknowledgeType.ACCEPT
                        : delivery < 3 ? AcknowledgeType.RELEASE : AcknowledgeType.REJECT;
                    consumer.acknowledge(job, type);
                    System.out.println(job.value() + ", delivery " + delivery + ": " + type);
                    finished += type == AcknowledgeType.RELEASE ? 0 : 1;
                }
                consumer.commitSync().values().forEach(error -> error.ifPresent(System.out::println));
            }
        }
    }
}

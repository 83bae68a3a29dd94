import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.AlterReplicaLogDirsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeLogDirsOptions;
import org.apache.kafka.clients.admin.DescribeReplicaLogDirsOptions;
import org.apache.kafka.clients.admin.ListClientMetricsResourcesOptions;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.ConfigResource.Type;

/** Settings of topics, brokers and whatever else has them, and the directories of logs. */
final class Configs {
    private static final ConfigResource TOPIC = new ConfigResource(Type.TOPIC, Topics.SETTLED);
    private static final ConfigResource BROKER = new ConfigResource(Type.BROKER, "1");
    private static final ConfigResource ALL_BROKERS = new ConfigResource(Type.BROKER, "");
    private static final ConfigResource LOGGERS = new ConfigResource(Type.BROKER_LOGGER, "1");
    private static final ConfigResource NO_LOGGERS = new ConfigResource(Type.BROKER_LOGGER, "7");
    private static final ConfigResource NO_TOPIC = new ConfigResource(Type.TOPIC, "absent");
    private static final ConfigResource NO_BROKER = new ConfigResource(Type.BROKER, "7");
    private static final ConfigResource ODD_BROKER = new ConfigResource(Type.BROKER, "x");
    private static final ConfigResource GROUP = new ConfigResource(Type.GROUP, "idle");
    private static final ConfigResource METRICS = new ConfigResource(Type.CLIENT_METRICS, "measurements");

    static void sweep(Sweep sweep) throws Exception {
        altered(sweep);
        described(sweep);
        listed(sweep);
        directories(sweep);
    }

    private static void altered(Sweep sweep) throws Exception {
        sweep.ask("a topic", admin -> admin.incrementalAlterConfigs(Map.of(TOPIC, List.of(
            op(OpType.SET, "max.message.bytes", "2048"), op(OpType.APPEND, "cleanup.policy", "compact"),
            op(OpType.DELETE, "segment.bytes", null)))));
        sweep.until(admin -> setting(admin, TOPIC, "cleanup.policy").equals("delete,compact"));
        sweep.ask("brokers", admin -> admin.incrementalAlterConfigs(Map.of(
            BROKER, List.of(op(OpType.SET, "log.segment.bytes", "2097152")),
            ALL_BROKERS, List.of(op(OpType.SET, "message.max.bytes", "4000000")))));
        sweep.until(admin -> setting(admin, BROKER, "log.segment.bytes").equals("2097152")
            && setting(admin, BROKER, "message.max.bytes").equals("4000000"));
        Map<ConfigResource, List<AlterConfigOp>> bad = Map.of(
            NO_TOPIC, List.of(op(OpType.SET, "retention.ms", "1")), NO_BROKER, List.of(op(OpType.SET, "log.segment.bytes", "9")),
            ODD_BROKER, List.of(op(OpType.SET, "log.segment.bytes", "9")), BROKER, List.of(op(OpType.SET, "log.dirs", "/x")),
            ALL_BROKERS, List.of(op(OpType.SET, "node.id", "3")));
        bad.forEach((resource, ops) -> sweep.ask("bad, of " + resource, admin -> admin.incrementalAlterConfigs(
            Map.of(resource, ops), new AlterConfigsOptions().validateOnly(true).timeoutMs(waiting(resource)))));
        List<AlterConfigOp> ops = List.of(op(OpType.SET, "retention.ms", "x"), op(OpType.SET, "no.such.key", "1"),
            op(OpType.APPEND, "retention.ms", "1"), op(OpType.SUBTRACT, "segment.ms", "1"), op(OpType.SET, "segment.bytes", null),
            op(OpType.SET, "cleanup.policy", ""), op(OpType.DELETE, "no.such.key", null));
        for (AlterConfigOp op : ops) {
            sweep.ask("bad: " + op.opType() + " " + op.configEntry().name() + "=" + op.configEntry().value(),
                admin -> admin.incrementalAlterConfigs(Map.of(TOPIC, List.of(op)), new AlterConfigsOptions()));
        }
        String throttled = "leader.replication.throttled.replicas";
        String more = IntStream.range(1, 300).mapToObj(number -> number + ":1").collect(Collectors.joining(","));
        sweep.ask("a long value", admin -> admin.incrementalAlterConfigs(
            Map.of(TOPIC, List.of(op(OpType.SET, throttled, "0:1" + ",0:1".repeat(8000))))));
        sweep.ask("a value that becomes too long", admin -> admin.incrementalAlterConfigs(
            Map.of(TOPIC, List.of(op(OpType.APPEND, throttled, more)))));
        sweep.ask("throttled replicas", admin -> admin.incrementalAlterConfigs(Map.of(TOPIC, List.of(
            op(OpType.SET, throttled, "*"), op(OpType.SET, "follower.replication.throttled.replicas", "0:1,1:1")))));
        sweep.ask("throttled rates", admin -> admin.incrementalAlterConfigs(Map.of(
            BROKER, List.of(op(OpType.SET, "leader.replication.throttled.rate", "1000"),
                op(OpType.SET, "follower.replication.throttled.rate", "1000"),
                op(OpType.SET, "replica.alter.log.dirs.io.max.bytes.per.second", "1000")))));
        Collection<AlterConfigOp> twice = List.of(op(OpType.SET, "segment.ms", "1"), op(OpType.DELETE, "segment.ms", null));
        sweep.ask("one key twice", admin -> admin.incrementalAlterConfigs(Map.of(TOPIC, twice)));
        Map<ConfigResource, Collection<AlterConfigOp>> good = Map.of(TOPIC, List.of(op(OpType.SET, "segment.ms", "5000")));
        sweep.ask("good, only to validate",
            admin -> admin.incrementalAlterConfigs(good, new AlterConfigsOptions().validateOnly(true)));
        for (ConfigResource resource : List.of(LOGGERS, NO_LOGGERS)) {
            sweep.ask("a level of " + resource, admin -> admin.incrementalAlterConfigs(
                Map.of(resource, List.of(op(OpType.SET, "kafka.server.KafkaApis", "LOUD"))),
                new AlterConfigsOptions().timeoutMs(waiting(resource))));
        }
        sweep.ask("a group", admin -> admin.incrementalAlterConfigs(
            Map.of(GROUP, List.of(op(OpType.SET, "consumer.session.timeout.ms", "50000")))));
        sweep.ask("a group's unknown key", admin -> admin.incrementalAlterConfigs(
            Map.of(GROUP, List.of(op(OpType.SET, "no.such.key", "50000")))));
        sweep.ask("metrics of clients", admin -> admin.incrementalAlterConfigs(
            Map.of(METRICS, List.of(op(OpType.SET, "interval.ms", "50000")))));
    }

    /** A broker that is not there is waited for. */
    private static int waiting(ConfigResource resource) {
        return resource.name().equals("7") ? Sweep.SOON_MS : Sweep.TIMEOUT_MS;
    }

    private static AlterConfigOp op(OpType type, String key, String value) {
        return new AlterConfigOp(new ConfigEntry(key, value), type);
    }

    private static String setting(Admin admin, ConfigResource resource, String key) throws Exception {
        return admin.describeConfigs(List.of(resource)).values().get(resource).get().get(key).value();
    }

    private static void described(Sweep sweep) {
        DescribeConfigsOptions all = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        for (ConfigResource resource : List.of(TOPIC, BROKER, ALL_BROKERS)) {
            sweep.ask("of " + resource, admin -> admin.describeConfigs(List.of(resource)));
            sweep.ask("with all there is, of " + resource, admin -> admin.describeConfigs(List.of(resource), all));
        }
        for (ConfigResource resource : List.of(NO_TOPIC, NO_BROKER, ODD_BROKER, NO_LOGGERS, GROUP, METRICS,
                new ConfigResource(Type.GROUP, "nobody"), new ConfigResource(Type.TOPIC, "bad name!"))) {
            sweep.ask("of " + resource, admin -> admin.describeConfigs(List.of(resource),
                new DescribeConfigsOptions().timeoutMs(waiting(resource))));
        }
        sweep.ask("loggers", admin -> admin.describeConfigs(List.of(LOGGERS)).values().get(LOGGERS).get().entries().size() > 0);
    }

    private static void listed(Sweep sweep) {
        sweep.ask("all", Admin::listConfigResources);
        for (Type type : Type.values()) {
            sweep.ask("only " + type, admin -> admin.listConfigResources(Set.of(type), new ListConfigResourcesOptions()));
        }
        sweep.ask("all", Admin::listClientMetricsResources);
        sweep.ask("with options", admin -> admin.listClientMetricsResources(new ListClientMetricsResourcesOptions()));
    }

    private static void directories(Sweep sweep) throws Exception {
        sweep.ask("of the broker", admin -> admin.describeLogDirs(List.of(1)));
        sweep.ask("of no broker", admin -> admin.describeLogDirs(List.of(7),
            (DescribeLogDirsOptions) new DescribeLogDirsOptions().timeoutMs(Sweep.SOON_MS)));
        TopicPartitionReplica here = new TopicPartitionReplica(Topics.SETTLED, 0, 1);
        TopicPartitionReplica nothing = new TopicPartitionReplica("absent", 0, 1);
        TopicPartitionReplica nobody = new TopicPartitionReplica(Topics.SETTLED, 0, 7);
        List<TopicPartitionReplica> replicas = List.of(here, nothing);
        sweep.ask("of replicas", admin -> admin.describeReplicaLogDirs(replicas));
        sweep.ask("of a broker that is not there", admin -> admin.describeReplicaLogDirs(List.of(nobody),
            (DescribeReplicaLogDirsOptions) new DescribeReplicaLogDirsOptions().timeoutMs(Sweep.SOON_MS)));
        sweep.ask("to where there is nothing",
            admin -> admin.alterReplicaLogDirs(Map.of(here, "/no/such/directory", nothing, "/no/such/directory")));
        sweep.ask("to a relative path", admin -> admin.alterReplicaLogDirs(Map.of(here, "relative"), new AlterReplicaLogDirsOptions()));
    }
}

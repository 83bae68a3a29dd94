import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterPartitionReassignmentsOptions;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DeleteRecordsOptions;
import org.apache.kafka.clients.admin.DeleteTopicsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ElectLeadersOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListPartitionReassignmentsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** Topics, partitions, offsets and records; made first, deleted last. */
final class Topics {
    static final String SETTLED = "settled";
    static final TopicPartition FIRST = new TopicPartition(SETTLED, 0);
    static final TopicPartition SECOND = new TopicPartition(SETTLED, 1);
    static final TopicPartition NO_PARTITION = new TopicPartition(SETTLED, 9);
    static final TopicPartition NO_TOPIC = new TopicPartition("absent", 0);
    private static final short ONE = 1;

    static void sweep(Sweep sweep, Inhabitants inhabitants) throws Exception {
        created(sweep);
        inhabitants.write(SETTLED, 0, 0, 10_000, 30_000, 20_000);
        described(sweep);
        grown(sweep);
        measured(sweep);
        moved(sweep);
    }

    private static void created(Sweep sweep) throws Exception {
        NewTopic settled = new NewTopic(SETTLED, 2, ONE).configs(Map.of("retention.ms", "-1", "segment.bytes", "1048576"));
        List<NewTopic> topics = List.of(settled, new NewTopic("assigned", Map.of(0, List.of(1), 1, List.of(1))),
            new NewTopic("by-default", Optional.empty(), Optional.empty()), new NewTopic("doomed", 1, ONE));
        sweep.ask("topics", admin -> admin.createTopics(topics));
        sweep.until(admin -> admin.listTopics().names().get().size() == topics.size());
        List<NewTopic> bad = List.of(settled, new NewTopic("bad name!", 1, ONE), new NewTopic("none", 0, ONE),
            new NewTopic("replicated", 1, (short) 3), new NewTopic("elsewhere", Map.of(0, List.of(7))),
            new NewTopic("gap", Map.of(0, List.of(1), 2, List.of(1))), new NewTopic("twice", Map.of(0, List.of(1, 1))),
            new NewTopic("odd", 1, ONE).configs(Map.of("no.such.key", "1")), new NewTopic(".", 1, ONE),
            new NewTopic("wrong", 1, ONE).configs(Map.of("retention.ms", "x")), new NewTopic("__consumer_offsets", 1, ONE),
            new NewTopic("by_default", 1, ONE), new NewTopic("many", 100_000_000, ONE), new NewTopic("", 1, ONE));
        CreateTopicsOptions trial = new CreateTopicsOptions().validateOnly(true);
        sweep.ask("bad topics, only to validate", admin -> admin.createTopics(bad, trial));
        List<NewTopic> good = List.of(new NewTopic("possible", 3, ONE).configs(Map.of("cleanup.policy", "compact")));
        sweep.ask("a good topic, only to validate", admin -> admin.createTopics(good, trial.retryOnQuotaViolation(false)));
    }

    private static void described(Sweep sweep) throws Exception {
        List<String> names = List.of(SETTLED, "assigned", "absent", "bad name!", "");
        sweep.ask("all", Admin::listTopics);
        sweep.ask("internal ones, too", admin -> admin.listTopics(new ListTopicsOptions().listInternal(true)));
        sweep.ask("by names", admin -> admin.describeTopics(names));
        DescribeTopicsOptions options = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        sweep.ask("with operations", admin -> admin.describeTopics(names, options.partitionSizeLimitPerResponse(1)));
        sweep.ask("a collection of names", admin -> admin.describeTopics(TopicCollection.ofTopicNames(names)));
        Map<String, Uuid> ids = new HashMap<>();
        sweep.until(admin -> {
            admin.listTopics().listings().get().forEach(topic -> ids.put(topic.name(), topic.topicId()));
            return ids.containsKey(SETTLED);
        });
        TopicCollection one = TopicCollection.ofTopicIds(List.of(ids.get(SETTLED)));
        sweep.ask("by id", admin -> admin.describeTopics(one, options));
        TopicCollection absent = TopicCollection.ofTopicIds(List.of(new Uuid(1, 1)));
        sweep.ask("by an id of nothing", admin -> admin.describeTopics(absent, options));
    }

    private static void grown(Sweep sweep) throws Exception {
        Map<String, NewPartitions> more = Map.of("assigned", NewPartitions.increaseTo(3),
            "doomed", NewPartitions.increaseTo(2, List.of(List.of(1))));
        sweep.ask("more", admin -> admin.createPartitions(more));
        sweep.until(admin -> partitions(admin, "assigned") == 3 && partitions(admin, "doomed") == 2);
        Map<String, NewPartitions> bad = Map.of("assigned", NewPartitions.increaseTo(2), "absent",
            NewPartitions.increaseTo(2), SETTLED, NewPartitions.increaseTo(2), "doomed",
            NewPartitions.increaseTo(3, List.of(List.of(7))), "by-default",
            NewPartitions.increaseTo(3, List.of(List.of(1))));
        CreatePartitionsOptions trial = new CreatePartitionsOptions().validateOnly(true);
        sweep.ask("bad counts, only to validate", admin -> admin.createPartitions(bad, trial));
        sweep.ask("a good count, only to validate",
            admin -> admin.createPartitions(Map.of(SETTLED, NewPartitions.increaseTo(5)), trial));
    }

    private static int partitions(Admin admin, String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).topicNameValues().get(topic).get().partitions().size();
    }

    private static void measured(Sweep sweep) {
        long between = Inhabitants.LONG_AGO_MS + 1;
        Map<String, OffsetSpec> specs = Map.of("earliest", OffsetSpec.earliest(), "latest", OffsetSpec.latest(),
            "of the largest time", OffsetSpec.maxTimestamp(), "of a time", OffsetSpec.forTimestamp(between),
            "of a time to come", OffsetSpec.forTimestamp(between + 60_000), "earliest local", OffsetSpec.earliestLocal(),
            "latest tiered", OffsetSpec.latestTiered(), "earliest pending upload", OffsetSpec.earliestPendingUpload());
        ListOffsetsOptions committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED);
        specs.forEach((name, spec) -> sweep.ask(name, admin -> admin.listOffsets(Map.of(FIRST, spec, SECOND, spec))));
        specs.forEach((name, spec) ->
            sweep.ask(name + ", committed", admin -> admin.listOffsets(Map.of(FIRST, spec), committed)));
        sweep.ask("of no partition", admin -> admin.listOffsets(Map.of(NO_PARTITION, OffsetSpec.latest()),
            (ListOffsetsOptions) new ListOffsetsOptions().timeoutMs(Sweep.SOON_MS)));
        sweep.ask("below an offset", admin -> admin.deleteRecords(Map.of(FIRST, RecordsToDelete.beforeOffset(1))));
        Map<TopicPartition, RecordsToDelete> beyond = Map.of(FIRST, RecordsToDelete.beforeOffset(9), SECOND,
            RecordsToDelete.beforeOffset(-1));
        sweep.ask("beyond the end", admin -> admin.deleteRecords(beyond, new DeleteRecordsOptions()));
        sweep.ask("below 0", admin -> admin.deleteRecords(Map.of(FIRST, RecordsToDelete.beforeOffset(-2))));
    }

    private static void moved(Sweep sweep) {
        for (ElectionType type : ElectionType.values()) {
            sweep.ask(type + " leaders of some",
                admin -> admin.electLeaders(type, Set.of(FIRST, NO_PARTITION, NO_TOPIC)));
            sweep.ask(type + " leaders of all", admin -> admin.electLeaders(type, null, new ElectLeadersOptions()));
        }
        Map<TopicPartition, Optional<NewPartitionReassignment>> moves = Map.of(
            FIRST, move(1), SECOND, move(2), NO_TOPIC, move(1), NO_PARTITION, move(1),
            new TopicPartition("assigned", 0), Optional.empty(), new TopicPartition("assigned", 1), move(),
            new TopicPartition("assigned", 2), move(1, 1), new TopicPartition("doomed", 0), move(1, 2));
        AlterPartitionReassignmentsOptions options = new AlterPartitionReassignmentsOptions();
        sweep.ask("everywhere", admin -> admin.alterPartitionReassignments(moves));
        sweep.ask("more replicas", admin -> admin.alterPartitionReassignments(
            Map.of(FIRST, move(1, 2), SECOND, move(1)), options.allowReplicationFactorChange(false)));
        Set<TopicPartition> some = Set.of(FIRST, NO_PARTITION);
        ListPartitionReassignmentsOptions listing = new ListPartitionReassignmentsOptions();
        sweep.ask("all", Admin::listPartitionReassignments);
        sweep.ask("all, with options", admin -> admin.listPartitionReassignments(listing));
        sweep.ask("some", admin -> admin.listPartitionReassignments(some));
        sweep.ask("some, with options", admin -> admin.listPartitionReassignments(some, listing));
        sweep.ask("perhaps some", admin -> admin.listPartitionReassignments(Optional.of(Set.of(NO_TOPIC)), listing));
    }

    private static Optional<NewPartitionReassignment> move(Integer... replicas) {
        try {
            return Optional.of(new NewPartitionReassignment(List.of(replicas)));
        } catch (IllegalArgumentException noReplicas) {
            return Optional.empty();
        }
    }

    static void end(Sweep sweep) throws Exception {
        sweep.ask("by names", admin -> admin.deleteTopics(List.of("doomed", "absent")));
        sweep.until(admin -> !admin.listTopics().names().get().contains("doomed"));
        Collection<String> again = List.of("doomed", "bad name!");
        DeleteTopicsOptions options = new DeleteTopicsOptions().retryOnQuotaViolation(false);
        sweep.ask("that are gone", admin -> admin.deleteTopics(again, options));
        sweep.ask("a collection", admin -> admin.deleteTopics(TopicCollection.ofTopicNames(List.of("assigned"))));
        TopicCollection absent = TopicCollection.ofTopicIds(List.of(new Uuid(1, 1)));
        sweep.ask("by an id of nothing", admin -> admin.deleteTopics(absent, options));
    }
}

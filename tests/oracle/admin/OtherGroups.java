import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterShareGroupOffsetsOptions;
import org.apache.kafka.clients.admin.AlterStreamsGroupOffsetsOptions;
import org.apache.kafka.clients.admin.DeleteShareGroupOffsetsOptions;
import org.apache.kafka.clients.admin.DeleteShareGroupsOptions;
import org.apache.kafka.clients.admin.DeleteStreamsGroupOffsetsOptions;
import org.apache.kafka.clients.admin.DeleteStreamsGroupsOptions;
import org.apache.kafka.clients.admin.DescribeShareGroupsOptions;
import org.apache.kafka.clients.admin.DescribeStreamsGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Share groups and groups of streams. No group of either kind has members. */
final class OtherGroups {
    private static final String NOBODY = "no-such-group";
    private static final List<String> IDS = List.of(NOBODY);
    private static final Set<TopicPartition> PLACES = Set.of(Topics.FIRST);

    static void sweep(Sweep sweep) {
        share(sweep);
        streams(sweep);
    }

    private static void share(Sweep sweep) {
        Map<String, ListShareGroupOffsetsSpec> specs =
            Map.of(NOBODY, new ListShareGroupOffsetsSpec().topicPartitions(List.of(Topics.FIRST)));
        sweep.ask("short", admin -> admin.describeShareGroups(IDS));
        sweep.ask("with operations", admin -> admin.describeShareGroups(IDS,
            new DescribeShareGroupsOptions().includeAuthorizedOperations(true)));
        sweep.ask("short", admin -> admin.alterShareGroupOffsets(NOBODY, Map.of(Topics.NO_TOPIC, 1L)));
        sweep.ask("with options", admin -> admin.alterShareGroupOffsets(NOBODY, Map.of(Topics.NO_TOPIC, 1L),
            new AlterShareGroupOffsetsOptions()));
        sweep.ask("short", admin -> admin.listShareGroupOffsets(specs));
        sweep.ask("with options", admin -> admin.listShareGroupOffsets(specs, new ListShareGroupOffsetsOptions()));
        sweep.ask("short", admin -> admin.deleteShareGroupOffsets(NOBODY, Set.of(Topics.SETTLED)));
        sweep.ask("with options", admin -> admin.deleteShareGroupOffsets(NOBODY, Set.of(Topics.SETTLED),
            new DeleteShareGroupOffsetsOptions()));
        offsets(sweep);
        sweep.ask("short", admin -> admin.deleteShareGroups(IDS));
        sweep.ask("with options", admin -> admin.deleteShareGroups(IDS, new DeleteShareGroupsOptions()));
    }

    /** The offsets of groups that begin by having them set. */
    private static void offsets(Sweep sweep) {
        String group = "share-with-offsets";
        List<TopicPartition> both = List.of(Topics.FIRST, Topics.SECOND);
        sweep.ask("of an unknown group",
            admin -> admin.alterShareGroupOffsets(group, Map.of(Topics.FIRST, 1L, Topics.SECOND, 100L)));
        sweep.ask("also of a missing partition", admin -> admin.alterShareGroupOffsets("share-with-a-gap",
            Map.of(Topics.FIRST, 2L, Topics.NO_PARTITION, 2L)));
        sweep.ask("which were set", admin -> admin.listShareGroupOffsets(
            Map.of(group, new ListShareGroupOffsetsSpec().topicPartitions(both))));
        sweep.ask("whose offsets were set", admin -> admin.describeShareGroups(List.of(group)));
        sweep.ask("which were set", admin -> admin.deleteShareGroupOffsets(group, Set.of(Topics.SETTLED)));
        sweep.ask("which were deleted", admin -> admin.deleteShareGroupOffsets(group, Set.of(Topics.SETTLED)));
        sweep.ask("without offsets", admin -> admin.deleteShareGroups(List.of(group)));
    }

    private static void streams(Sweep sweep) {
        Map<String, ListStreamsGroupOffsetsSpec> specs =
            Map.of(NOBODY, new ListStreamsGroupOffsetsSpec().topicPartitions(PLACES));
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(Topics.NO_TOPIC, new OffsetAndMetadata(1));
        sweep.ask("short", admin -> admin.describeStreamsGroups(IDS));
        sweep.ask("with operations", admin -> admin.describeStreamsGroups(IDS,
            new DescribeStreamsGroupsOptions().includeAuthorizedOperations(true)));
        sweep.ask("short", admin -> admin.listStreamsGroupOffsets(specs));
        sweep.ask("with options", admin -> admin.listStreamsGroupOffsets(specs, new ListStreamsGroupOffsetsOptions()));
        sweep.ask("short", admin -> admin.alterStreamsGroupOffsets(NOBODY, offsets));
        sweep.ask("with options",
            admin -> admin.alterStreamsGroupOffsets(NOBODY, offsets, new AlterStreamsGroupOffsetsOptions()));
        sweep.ask("short", admin -> admin.deleteStreamsGroupOffsets("no-such-streams", PLACES));
        sweep.ask("with options",
            admin -> admin.deleteStreamsGroupOffsets("no-such-streams", PLACES, new DeleteStreamsGroupOffsetsOptions()));
        sweep.ask("short", admin -> admin.deleteStreamsGroups(List.of("no-such-streams")));
        sweep.ask("with options",
            admin -> admin.deleteStreamsGroups(List.of("no-such-streams"), new DeleteStreamsGroupsOptions()));
    }
}

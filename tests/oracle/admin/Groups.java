import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.DeleteConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.DeleteConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeClassicGroupsOptions;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListConsumerGroupsOptions;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/** Groups of the classic protocol: one that has members, one that only has offsets, one that nobody knows. */
final class Groups {
    private static final List<String> IDS = List.of("busy", "idle", "nobody", "");

    static void sweep(Sweep sweep, Inhabitants inhabitants) throws Exception {
        inhabitants.join("busy", Topics.SETTLED, null);
        inhabitants.join("static", Topics.SETTLED, "the-one");
        altered(sweep);
        told(sweep);
        deleted(sweep);
        removed(sweep);
    }

    private static void altered(Sweep sweep) {
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(Topics.FIRST, new OffsetAndMetadata(2, Optional.of(0), "note"),
            Topics.SECOND, new OffsetAndMetadata(0));
        sweep.ask("of a new group", admin -> admin.alterConsumerGroupOffsets("idle", offsets));
        sweep.ask("of a group with members", admin -> admin.alterConsumerGroupOffsets("busy", offsets,
            new AlterConsumerGroupOffsetsOptions()));
        sweep.ask("of what is not there", admin -> admin.alterConsumerGroupOffsets("idle",
            Map.of(Topics.NO_TOPIC, new OffsetAndMetadata(1), Topics.NO_PARTITION, new OffsetAndMetadata(1))));
        sweep.ask("with long metadata", admin -> admin.alterConsumerGroupOffsets("idle",
            Map.of(Topics.FIRST, new OffsetAndMetadata(1, "x".repeat(5_000)))));
        sweep.ask("without a name", admin -> admin.alterConsumerGroupOffsets("", offsets));
    }

    private static void told(Sweep sweep) {
        sweep.ask("all", Admin::listConsumerGroups);
        sweep.ask("that are stable", admin -> admin.listConsumerGroups(new ListConsumerGroupsOptions()
            .inGroupStates(Set.of(GroupState.STABLE)).withTypes(Set.of(GroupType.CLASSIC))));
        sweep.ask("all", Admin::listGroups);
        sweep.ask("of consumers", admin -> admin.listGroups(ListGroupsOptions.forConsumerGroups()));
        sweep.ask("that share", admin -> admin.listGroups(ListGroupsOptions.forShareGroups()));
        sweep.ask("of streams", admin -> admin.listGroups(ListGroupsOptions.forStreamsGroups()));
        sweep.ask("that are empty", admin -> admin.listGroups(new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY))));
        sweep.ask("of a protocol", admin -> admin.listGroups(new ListGroupsOptions().withProtocolTypes(Set.of("", "connect"))));
        sweep.ask("some", admin -> admin.describeConsumerGroups(IDS));
        sweep.ask("with operations", admin -> admin.describeConsumerGroups(IDS,
            new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)));
        sweep.ask("some", admin -> admin.describeClassicGroups(IDS));
        sweep.ask("with operations", admin -> admin.describeClassicGroups(List.of("static"),
            new DescribeClassicGroupsOptions().includeAuthorizedOperations(true)));
        ListConsumerGroupOffsetsSpec some = new ListConsumerGroupOffsetsSpec()
            .topicPartitions(List.of(Topics.FIRST, Topics.NO_TOPIC, Topics.NO_PARTITION));
        Map<String, ListConsumerGroupOffsetsSpec> specs = Map.of("idle", some, "nobody", some);
        ListConsumerGroupOffsetsOptions stable = new ListConsumerGroupOffsetsOptions().requireStable(true);
        sweep.ask("all of one", admin -> admin.listConsumerGroupOffsets("idle"));
        sweep.ask("all of nobody", admin -> admin.listConsumerGroupOffsets("nobody", stable));
        sweep.ask("some of some", admin -> admin.listConsumerGroupOffsets(specs));
        sweep.ask("some of some, stable", admin -> admin.listConsumerGroupOffsets(specs, stable));
    }

    private static void deleted(Sweep sweep) {
        Set<TopicPartition> places = Set.of(Topics.FIRST, Topics.NO_TOPIC, Topics.NO_PARTITION);
        sweep.ask("of one", admin -> admin.deleteConsumerGroupOffsets("idle", places));
        sweep.ask("of one, then", admin -> admin.listConsumerGroupOffsets("idle"));
        for (String group : List.of("busy", "nobody", "")) {
            sweep.ask("of '" + group + "'",
                admin -> admin.deleteConsumerGroupOffsets(group, places, new DeleteConsumerGroupOffsetsOptions()));
        }
        sweep.ask("some", admin -> admin.deleteConsumerGroups(List.of("idle", "busy", "nobody")));
        sweep.ask("again", admin -> admin.deleteConsumerGroups(List.of("idle"), new DeleteConsumerGroupsOptions()));
    }

    private static void removed(Sweep sweep) {
        Set<MemberToRemove> members = Set.of(new MemberToRemove("the-one"), new MemberToRemove("another"));
        for (String group : List.of("static", "nobody")) {
            RemoveMembersFromConsumerGroupOptions options = new RemoveMembersFromConsumerGroupOptions(members);
            options.reason("cleared");
            sweep.ask("members of " + group, admin -> admin.removeMembersFromConsumerGroup(group, options));
        }
        sweep.ask("all members", admin -> admin.removeMembersFromConsumerGroup("busy", new RemoveMembersFromConsumerGroupOptions()));
        sweep.ask("all members of nobody",
            admin -> admin.removeMembersFromConsumerGroup("nobody", new RemoveMembersFromConsumerGroupOptions()));
        sweep.ask("without members", admin -> admin.describeClassicGroups(List.of("busy", "static")));
    }
}

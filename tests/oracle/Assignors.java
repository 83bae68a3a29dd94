// Answers questions about Kafka's server-side assignors, a line of JSON each; tests/support/kafka/assignors.py asks them.
//
// A group is assigned by the coordinator's own TargetAssignmentBuilder, with members in a TimelineHashMap and what they
// have read from records. The answer is the records: what every member gets that does not get what it had.

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

public class Assignors {
    private static final ObjectMapper JSON =
        new ObjectMapper(JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build());
    private static final Map<String, ConsumerGroupPartitionAssignor> ASSIGNORS =
        Map.of("uniform", new UniformAssignor(), "range", new RangeAssignor());

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        answers.println("java " + Runtime.version().feature());
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = JSON.readTree(line);
            Object answer = question.has("assignor") ? assign(question)
                : question.has("steps") ? iterate(question) : timeline(question);
            answers.println(question.get("number").asInt() + " " + JSON.writeValueAsString(answer));
        }
    }

    private static Object assign(JsonNode question) throws Exception {
        Topics topics = new Topics(question.get("topics"));
        TimelineHashMap<String, ConsumerGroupMember> members = newTable(question.get("largest").asInt());
        Map<String, Assignment> targets = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode each : question.get("members")) {
            String memberId = each.get("id").asText();
            ConsumerGroupMember.Builder member = new ConsumerGroupMember.Builder(memberId);
            if (!each.get("instance").isNull()) member.setInstanceId(each.get("instance").asText());
            List<String> names = new ArrayList<>();
            each.get("names").forEach(name -> names.add(name.asText()));
            members.put(memberId, member.setSubscribedTopicNames(names).build());
            if (each.get("target").isNull()) continue;
            Assignment target = Assignment.fromRecord(recordOf(each.get("target")));
            targets.put(memberId, target);
            target.partitions().forEach((topicId, partitions) -> partitions.forEach(partition ->
                owners.computeIfAbsent(topicId, id -> new HashMap<>()).put(partition, memberId)));
        }
        boolean isHomogeneous = question.get("type").asText().equals("homogeneous");
        List<CoordinatorRecord> records =
            new ConsumerTargetAssignmentBuilder("group", 1, ASSIGNORS.get(question.get("assignor").asText()))
                .withTime(Time.SYSTEM)
                .withMembers(members)
                .withSubscriptionType(isHomogeneous ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS)
                .withTargetAssignment(targets)
                .withInvertedTargetAssignment(owners)
                .withMetadataImage(topics)
                .withResolvedRegularExpressions(Map.of())
                .build()
                .records();
        return told(records);
    }

    /** Of a group that once had `largest` members, who are gone. */
    private static TimelineHashMap<String, ConsumerGroupMember> newTable(int largest) throws Exception {
        TimelineHashMap<String, ConsumerGroupMember> members = new TimelineHashMap<>(newRegistry(), 0);
        for (int i = 0; i < largest; i++) members.put("gone" + i, new ConsumerGroupMember.Builder("gone" + i).build());
        for (int i = 0; i < largest; i++) members.remove("gone" + i);
        return members;
    }

    /** `new SnapshotRegistry(new LogContext())`: since 4.4 LogContext is in another package. */
    private static SnapshotRegistry newRegistry() throws Exception {
        for (Constructor<?> constructor : SnapshotRegistry.class.getConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types.length == 1) {
                return (SnapshotRegistry) constructor.newInstance(types[0].getConstructor().newInstance());
            }
        }
        throw new IllegalStateException("no constructor of SnapshotRegistry takes one argument");
    }

    private static ConsumerGroupTargetAssignmentMemberValue recordOf(JsonNode target) {
        List<ConsumerGroupTargetAssignmentMemberValue.TopicPartition> topics = new ArrayList<>();
        for (JsonNode topic : target) {
            List<Integer> partitions = new ArrayList<>();
            topic.get(1).forEach(partition -> partitions.add(partition.asInt()));
            topics.add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                .setTopicId(Uuid.fromString(topic.get(0).asText()))
                .setPartitions(partitions));
        }
        return new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(topics);
    }

    private static Object told(List<CoordinatorRecord> records) {
        List<Object> told = new ArrayList<>();
        for (CoordinatorRecord record : records) {
            if (!(record.key() instanceof ConsumerGroupTargetAssignmentMemberKey key)) continue;
            List<Object> topics = new ArrayList<>();
            ConsumerGroupTargetAssignmentMemberValue value =
                (ConsumerGroupTargetAssignmentMemberValue) record.value().message();
            value.topicPartitions().forEach(topic -> topics.add(List.of(topic.topicId().toString(), topic.partitions())));
            told.add(List.of(key.memberId(), topics));
        }
        return told;
    }

    /** What Java iterates over, after some calls on a table: see HashOrder. */
    private static Object iterate(JsonNode question) {
        Map<Object, Boolean> table = new HashMap<>(question.get("capacity").asInt());
        for (JsonNode step : question.get("steps")) {
            Object key = key(question.get("type").asText(), step.get(1));
            switch (step.get(0).asText()) {
                case "put" -> table.put(key, true);
                case "absent" -> table.computeIfAbsent(key, absent -> true);
                case "remove" -> table.remove(key);
                default -> throw new IllegalArgumentException(step.toString());
            }
        }
        List<Object> copied = new ArrayList<>();
        new HashSet<>(table.keySet()).forEach(key -> copied.add(key instanceof Uuid ? key.toString() : key));
        List<Object> iterated = new ArrayList<>();
        table.keySet().forEach(key -> iterated.add(key instanceof Uuid ? key.toString() : key));
        return List.of(iterated, copied);
    }

    /** In which order the coordinator has the members of a group. */
    private static Object timeline(JsonNode question) throws Exception {
        TimelineHashMap<String, ConsumerGroupMember> members = newTable(question.get("largest").asInt());
        for (JsonNode key : question.get("keys")) {
            members.put(key.asText(), new ConsumerGroupMember.Builder(key.asText()).build());
        }
        return new ArrayList<>(members.keySet());
    }

    private static Object key(String type, JsonNode key) {
        return switch (type) {
            case "integer" -> (Object) key.asInt();
            case "topic id" -> Uuid.fromString(key.asText());
            default -> key.asText();
        };
    }

    /** The topics there are: a row each of name, id and number of partitions. */
    private static class Topics implements CoordinatorMetadataImage {
        private record Topic(String name, Uuid id, int partitionCount) implements TopicMetadata {
            @Override
            public List<String> partitionRacks(int partition) {
                return List.of();
            }
        }

        private final Map<String, TopicMetadata> byName = new HashMap<>();
        private final Map<Uuid, TopicMetadata> byId = new HashMap<>();

        Topics(JsonNode rows) {
            for (JsonNode row : rows) {
                Topic topic = new Topic(row.get(0).asText(), Uuid.fromString(row.get(1).asText()), row.get(2).asInt());
                byName.put(topic.name(), topic);
                byId.put(topic.id(), topic);
            }
        }

        @Override
        public Set<Uuid> topicIds() {
            return byId.keySet();
        }

        @Override
        public Set<String> topicNames() {
            return byName.keySet();
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(String name) {
            return Optional.ofNullable(byName.get(name));
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return Optional.ofNullable(byId.get(id));
        }

        @Override
        public CoordinatorMetadataDelta emptyDelta() {
            return CoordinatorMetadataDelta.EMPTY;
        }

        @Override
        public long version() {
            return 1;
        }

        @Override
        public boolean isEmpty() {
            return byId.isEmpty();
        }
    }
}

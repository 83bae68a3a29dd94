// Answers questions about Kafka's assignor `simple` of share groups, a line of JSON each;
// tests/support/kafka/share_assignor.py asks them.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

public class ShareAssignor {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = JSON.readTree(line);
            System.out.println(question.get("number").asInt() + " " + JSON.writeValueAsString(assign(question)));
        }
    }

    private static Map<String, Map<String, Set<Integer>>> assign(JsonNode question) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        for (JsonNode each : question.get("members")) {
            Set<Uuid> topics = new LinkedHashSet<>();
            each.get("topics").forEach(id -> topics.add(Uuid.fromString(id.asText())));
            Map<Uuid, Set<Integer>> before = new HashMap<>();
            each.get("before").properties().forEach(topic -> {
                Set<Integer> partitions = before.computeIfAbsent(Uuid.fromString(topic.getKey()), id -> new HashSet<>());
                topic.getValue().forEach(partition -> partitions.add(partition.asInt()));
            });
            members.put(each.get("id").asText(), new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.empty(), topics, new Assignment(before)));
        }
        boolean isHomogeneous = question.get("type").asText().equals("homogeneous");
        SubscriptionType type = isHomogeneous ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        Map<String, Map<String, Set<Integer>>> told = new HashMap<>();
        new SimpleAssignor().assign(new GroupSpecImpl(members, type, Map.of()), new Topics(question.get("topics")))
            .members().forEach((memberId, member) -> {
                Map<String, Set<Integer>> topics = told.computeIfAbsent(memberId, id -> new HashMap<>());
                member.partitions().forEach((id, partitions) -> topics.put(id.toString(), new TreeSet<>(partitions)));
            });
        return told;
    }

    /** The topics there are: the number of partitions by id. */
    private record Topics(JsonNode counts) implements SubscribedTopicDescriber {
        @Override
        public int numPartitions(Uuid id) {
            return counts.get(id.toString()).asInt();
        }

        @Override
        public Set<String> racksForPartition(Uuid id, int partition) {
            return Set.of();
        }
    }
}

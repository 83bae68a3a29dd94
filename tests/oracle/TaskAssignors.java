// Answers questions about Kafka's task assignor `sticky` of streams groups, a line of JSON each;
// tests/support/kafka/task_assignors.py asks them.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

public class TaskAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = JSON.readTree(line);
            System.out.println(question.get("number").asInt() + " " + JSON.writeValueAsString(assign(question)));
        }
    }

    private static Object assign(JsonNode question) {
        Map<String, MemberMetadataAndStateImpl> members = new HashMap<>();
        for (JsonNode each : question.get("members")) {
            members.put(each.get("id").asText(), new MemberMetadataAndStateImpl(
                Optional.empty(), Optional.empty(), each.get("process").asText(), Map.of(),
                tasks(each.get("active")), tasks(each.get("standby")), Map.of(), offsets(each.get("offsets")), Map.of()));
        }
        AssignmentConfigsImpl configs = new AssignmentConfigsImpl(question.get("standby").asInt(), List.of());
        GroupAssignment found = new StickyTaskAssignor()
            .assign(new GroupSpecImpl(members, configs), new Topology(question.get("subtopologies")));
        Map<String, Object> told = new LinkedHashMap<>();
        found.members().forEach((id, member) -> told.put(id, List.of(member.activeTasks(), member.standbyTasks())));
        return told;
    }

    private static Map<String, Set<Integer>> tasks(JsonNode bySubtopology) {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        bySubtopology.properties().forEach(each -> {
            Set<Integer> partitions = tasks.computeIfAbsent(each.getKey(), id -> new HashSet<>());
            each.getValue().forEach(partition -> partitions.add(partition.asInt()));
        });
        return tasks;
    }

    private static Map<String, Map<Integer, Long>> offsets(JsonNode bySubtopology) {
        Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        bySubtopology.properties().forEach(each -> {
            Map<Integer, Long> sums = offsets.computeIfAbsent(each.getKey(), id -> new HashMap<>());
            each.getValue().forEach(pair -> sums.put(pair.get(0).asInt(), pair.get(1).asLong()));
        });
        return offsets;
    }

    /** The subtopologies there are: a row each of id, number of tasks, and whether it has state. */
    private record Topology(JsonNode rows) implements TopologyDescriber {
        @Override
        public List<String> subtopologies() {
            List<String> ids = new ArrayList<>();
            rows.forEach(row -> ids.add(row.get(0).asText()));
            return ids;
        }

        @Override
        public int maxNumInputPartitions(String id) {
            return row(id).get(1).asInt();
        }

        @Override
        public boolean isStateful(String id) {
            return row(id).get(2).asBoolean();
        }

        private JsonNode row(String id) {
            for (JsonNode row : rows) if (row.get(0).asText().equals(id)) return row;
            throw new java.util.NoSuchElementException(id);
        }
    }
}

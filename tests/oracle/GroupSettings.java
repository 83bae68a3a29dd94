// Says what Apache Kafka makes of settings of groups. A line of stdin is a case: its kind, then pairs key=value, all
// separated by U+001F. Answers a line each, "ok" or the refusal: for `broker` of a broker with these settings, for
// `group` of a group that is given these in a broker with its defaults.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.coordinator.group.GroupConfig;

public class GroupSettings {
    private static final Map<String, String> NODE = Map.of(
        "process.roles", "broker,controller", "node.id", "1", "controller.quorum.voters", "1@localhost:9093",
        "listeners", "PLAINTEXT://:9092,CONTROLLER://:9093", "controller.listener.names", "CONTROLLER");

    public static void main(String[] arguments) throws Exception {
        kafka.server.KafkaConfig defaults = kafka.server.KafkaConfig.fromProps(properties(Map.of()), false);
        BufferedReader cases = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            String[] words = line.split("\u001f", -1);
            Map<String, String> pairs = new HashMap<>();
            for (int at = 1; at < words.length; at++) {
                int equals = words[at].indexOf('=');
                pairs.put(words[at].substring(0, equals), words[at].substring(equals + 1));
            }
            try {
                if (words[0].equals("broker")) kafka.server.KafkaConfig.fromProps(properties(pairs), false);
                else GroupConfig.validate(pairs, defaults.groupCoordinatorConfig(), defaults.shareGroupConfig());
                System.out.println("ok");
            } catch (Exception refused) {
                System.out.println(refused.getMessage().replace('\n', ' '));
            }
        }
    }

    private static java.util.Properties properties(Map<String, String> pairs) {
        java.util.Properties all = new java.util.Properties();
        all.putAll(NODE);
        all.putAll(pairs);
        return all;
    }
}

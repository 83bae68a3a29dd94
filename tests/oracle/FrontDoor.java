// Says what Apache Kafka makes of an environment, and of configurations. A line of stdin is a case: its kind, then pairs
// key=value, all separated by U+001F. Answers a line each: for `environment` the settings its container image would write
// into server.properties, sorted; for `configuration` "ok", with the listeners and what is advertised, or the refusal.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import scala.jdk.javaapi.CollectionConverters;

public class FrontDoor {
    private static final String SEPARATOR = "\u001f";

    public static void main(String[] arguments) throws Exception {
        BufferedReader cases = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            String[] words = line.split(SEPARATOR, -1);
            Properties pairs = new Properties();
            for (int at = 1; at < words.length; at++) {
                int equals = words[at].indexOf('=');
                pairs.put(words[at].substring(0, equals), words[at].substring(equals + 1));
            }
            System.out.println(words[0].equals("environment") ? environment(pairs) : configuration(pairs));
        }
    }

    private static String environment(Properties variables) {
        scala.collection.immutable.Map<String, String> map = scala.collection.immutable.Map$.MODULE$.empty();
        for (String name : variables.stringPropertyNames())
            map = map.updated(name, variables.getProperty(name));
        var settings = kafka.docker.KafkaDockerWrapper$.MODULE$.getServerConfigsFromEnv(map);
        return String.join(SEPARATOR, new TreeSet<>(CollectionConverters.asJava(settings)));
    }

    private static String configuration(Properties properties) {
        try {
            kafka.server.KafkaConfig config = kafka.server.KafkaConfig.fromProps(properties, false);
            return "ok " + addresses(config.listeners()) + " " + addresses(config.effectiveAdvertisedBrokerListeners());
        } catch (Exception refused) {
            return "refused " + String.valueOf(refused.getMessage()).replace('\n', ' ');
        }
    }

    private static String addresses(Object endpoints) {
        Iterable<?> each = endpoints instanceof Iterable<?> found
            ? found : CollectionConverters.asJava((scala.collection.Iterable<?>) endpoints);
        List<String> texts = new ArrayList<>();
        for (Object one : each) {
            org.apache.kafka.common.Endpoint endpoint = (org.apache.kafka.common.Endpoint) one;
            texts.add(endpoint.listener() + "://" + (endpoint.host() == null ? "" : endpoint.host()) + ":" + endpoint.port());
        }
        return String.join(",", texts);
    }
}

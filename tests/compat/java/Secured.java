import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The Java client over a secured listener, as tests/compat/secured/story.py says. */
public final class Secured {
    private static final List<String> COMMITTED = List.of("one", "two", "three");

    public static void main(String[] words) {
        try {
            run(words[0], words[1], words[2], words[3], words[4], words[5], words[6]).forEach(System.out::println);
        } catch (Exception error) {
            System.err.println(error);
            System.exit(1);
        }
    }

    private static List<String> run(String address, String protocol, String mechanism, String user, String password,
            String authority, String name) throws Exception {
        Properties common = new Properties();
        common.put("bootstrap.servers", address);
        common.put("security.protocol", protocol);
        common.put("sasl.mechanism", mechanism);
        common.put("sasl.jaas.config", login(mechanism, user, password));
        if (mechanism.equals("OAUTHBEARER") && !password.isEmpty()) common.putAll(tokenInFile(password));
        common.put("max.block.ms", "10000");
        if (!authority.isEmpty()) {
            common.put("ssl.truststore.type", "PEM");
            common.put("ssl.truststore.location", authority);
        }
        Properties producing = with(common, Map.of("transactional.id", name));
        try (var producer = new KafkaProducer<String, String>(producing, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            for (String value : COMMITTED) producer.send(new ProducerRecord<>(name, value)).get();
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(name, "nothing")).get();
            producer.abortTransaction();
        }
        Properties consuming = with(common, Map.of("group.id", name, "auto.offset.reset", "earliest",
                "isolation.level", "read_committed", "enable.auto.commit", "false"));
        List<String> found = new ArrayList<>();
        try (var consumer =
                new KafkaConsumer<String, String>(consuming, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(name));
            while (found.size() < COMMITTED.size()) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    found.add(record.value());
                }
            }
            consumer.commitSync();
        }
        return found;
    }

    /** The client reads its token from a file, which the JVM's owner has to allow. */
    private static Map<String, String> tokenInFile(String token) throws Exception {
        Path file = Files.writeString(Files.createTempFile("token", ".jwt"), token);
        file.toFile().deleteOnExit();
        String url = file.toUri().toString();
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
        String handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler";
        return Map.of("sasl.login.callback.handler.class", handler, "sasl.oauthbearer.token.endpoint.url", url);
    }

    private static String login(String mechanism, String user, String password) {
        String modules = "org.apache.kafka.common.security.";
        if (mechanism.equals("OAUTHBEARER")) {
            String unsecured = password.isEmpty() ? " unsecuredLoginStringClaim_sub=\"" + user + "\"" : "";
            return modules + "oauthbearer.OAuthBearerLoginModule required" + unsecured + ";";
        }
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        return modules + module + " required username=\"" + user + "\" password=\"" + password + "\";";
    }

    private static Properties with(Properties common, Map<String, String> more) {
        Properties all = new Properties();
        all.putAll(common);
        all.putAll(more);
        return all;
    }
}

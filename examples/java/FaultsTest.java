import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a producer does when the broker misbehaves: docs/faults.md. */
class FaultsTest {
    private static final String HTTP = "127.0.0.1:" + freePort();

    @RegisterExtension
    static final BarnabasExtension kafka =
            new BarnabasExtension("--topic", "orders:1", "--http", HTTP, "--control");

    @Test
    void anOrderIsWrittenOnceAlthoughItsAnswerIsLost() throws Exception {
        ask("POST", "", "{\"name\": \"cut\", \"match\": {\"api\": \"Produce\"}, \"do\": {\"cut\": \"before\"}}");
        Map<String, Object> settings = Map.of("bootstrap.servers", kafka.bootstrapServers());
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            assertEquals(0, producer.send(new ProducerRecord<>("orders", "one castle")).get().offset());
            assertEquals(1, producer.send(new ProducerRecord<>("orders", "two castles")).get().offset());
        }
        ask("GET", "/cut?wait_fired=1", "");
    }

    private static void ask(String method, String path, String body) throws Exception {
        var uri = URI.create("http://" + HTTP + "/control/faults" + path);
        var request = HttpRequest.newBuilder(uri).method(method, BodyPublishers.ofString(body)).build();
        var answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
        assertEquals(200, answer.statusCode(), answer.body());
    }

    private static int freePort() {
        try (var socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}

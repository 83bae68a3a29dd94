package barnabas.own;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigResource;

/**
 * A Barnabas of one or several nodes in its own process, which ends with this JVM, even if that is killed. The ids of
 * the nodes begin at 0, as those of Kafka's own test clusters. Ports and directory stay.
 */
public final class BarnabasProcess {
    private static final Pattern READY = Pattern.compile("barnabas ready (\\S+) .* http=(\\S+)");
    private static final long STOP_TIMEOUT_S = 30;
    private final List<String> command = new ArrayList<>();
    private final int brokers;
    private final Set<Integer> stopped = new HashSet<>();
    private final String soleAddress;
    private Process process;
    private String bootstrapServers;
    private String http;

    /**
     * @param settings broker keys under Kafka's names; the program's path is the property `barnabas`
     * @param features levels of features, by name
     */
    public BarnabasProcess(int brokers, Map<String, String> settings, Map<String, Short> features) throws IOException {
        // One node is stopped with its process, and is found at its port again. Of several the ports stay while they run.
        int port = brokers == 1 ? unusedPort() : 0;
        Path directory = Files.createTempDirectory(Path.of(System.getProperty("data")), "node-");
        this.brokers = brokers;
        soleAddress = "127.0.0.1:" + port;
        command.addAll(List.of(System.getProperty("barnabas"), "serve", "--stop-with-stdin", "--log-level", "warning"));
        command.addAll(List.of("--port", String.valueOf(port), "--data-dir", directory.toString()));
        command.addAll(List.of("--brokers", String.valueOf(brokers), "--http", "127.0.0.1:0", "--set", "node.id=0"));
        new TreeMap<>(settings).forEach((key, value) -> command.addAll(List.of("--set", key + "=" + value)));
        features.forEach((name, level) -> command.addAll(List.of("--feature", name + "=" + level)));
    }

    /** The addresses of all nodes, those of stopped ones among them. */
    public String bootstrapServers() {
        return bootstrapServers == null ? soleAddress : bootstrapServers;
    }

    public int brokers() {
        return brokers;
    }

    /** Those of its nodes that serve. */
    List<Node> runningNodes() {
        List<Node> running = new ArrayList<>();
        String[] addresses = bootstrapServers().split(",");
        for (int id = 0; id < brokers && isRunning(); id++) {
            if (!stopped.contains(id)) {
                String[] address = addresses[id].split(":");
                running.add(new Node(id, address[0], Integer.parseInt(address[1])));
            }
        }
        return running;
    }

    /** Its metrics as Prometheus reads them, a line each. */
    Stream<String> metrics() throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create("http://" + http + "/metrics")).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofLines()).body();
    }

    public boolean isRunning() {
        return process != null && process.isAlive();
    }

    public void start() throws IOException {
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        var out = new BufferedReader(new InputStreamReader(process.getInputStream()));
        String line = out.readLine(); // the first line comes when clients can connect; none, when it cannot start
        Matcher ready = READY.matcher(line == null ? "" : line);
        if (!ready.matches()) {
            throw new IOException(String.join(" ", command) + " did not start");
        }
        bootstrapServers = ready.group(1);
        http = ready.group(2);
    }

    public void stop() throws IOException, InterruptedException {
        process.getOutputStream().close(); // which ends its stdin, and so the broker
        if (!process.waitFor(STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new IOException("it did not stop in time");
        }
    }

    void startNode(int id) throws IOException, InterruptedException, ExecutionException {
        if (brokers == 1) {
            start();
        } else {
            alterStopped(id, AlterConfigOp.OpType.SUBTRACT);
            stopped.remove(id);
        }
    }

    void stopNode(int id) throws IOException, InterruptedException, ExecutionException {
        if (brokers == 1) {
            stop();
        } else {
            alterStopped(id, AlterConfigOp.OpType.APPEND);
            stopped.add(id);
        }
    }

    Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrapServers()));
    }

    private void alterStopped(int id, AlterConfigOp.OpType operation) throws InterruptedException, ExecutionException {
        var entry = new ConfigEntry("barnabas.nodes.stopped", String.valueOf(id));
        var everyBroker = new ConfigResource(ConfigResource.Type.BROKER, "");
        try (Admin admin = admin()) {
            admin.incrementalAlterConfigs(Map.of(everyBroker, List.of(new AlterConfigOp(entry, operation)))).all().get();
        }
    }

    private static int unusedPort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}

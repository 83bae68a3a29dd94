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
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A Barnabas in its own process, which ends with this JVM, even if that is killed. Its port and directory stay. */
final class BarnabasNode {
    private static final Pattern READY = Pattern.compile("barnabas ready .* http=(\\S+)");
    private static final long STOP_TIMEOUT_S = 30;
    private final List<String> command = new ArrayList<>();
    private final String address;
    private Process process;
    private String http;

    /** @param settings broker keys under Kafka's names; the program's path is the property `barnabas` */
    BarnabasNode(Map<String, String> settings) throws IOException {
        int port = unusedPort();
        Path directory = Files.createTempDirectory(Path.of(System.getProperty("data")), "node-");
        address = "127.0.0.1:" + port;
        command.addAll(List.of(System.getProperty("barnabas"), "serve", "--stop-with-stdin", "--log-level", "warning"));
        command.addAll(List.of("--port", String.valueOf(port), "--data-dir", directory.toString()));
        command.addAll(List.of("--http", "127.0.0.1:0"));
        settings.forEach((key, value) -> command.addAll(List.of("--set", key + "=" + value)));
    }

    String address() {
        return address;
    }

    /** Its metrics as Prometheus reads them, a line each. */
    Stream<String> metrics() throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create("http://" + http + "/metrics")).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofLines()).body();
    }

    boolean isRunning() {
        return process != null && process.isAlive();
    }

    void start() throws IOException {
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        var out = new BufferedReader(new InputStreamReader(process.getInputStream()));
        String line = out.readLine(); // the first line comes when clients can connect; none, when it cannot start
        Matcher ready = READY.matcher(line == null ? "" : line);
        if (!ready.matches()) {
            throw new IOException(String.join(" ", command) + " did not start");
        }
        http = ready.group(1);
    }

    void stop() throws IOException, InterruptedException {
        process.getOutputStream().close(); // which ends its stdin, and so the broker
        if (!process.waitFor(STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new IOException("it did not stop in time");
        }
    }

    private static int unusedPort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}

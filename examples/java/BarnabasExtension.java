import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * JUnit 5: a broker for the tests of a class, in a process that ends with them, or with the JVM, even if that is killed.
 *
 *   @RegisterExtension static final BarnabasExtension kafka = new BarnabasExtension("--topic", "orders:3");
 *   … kafka.bootstrapServers() …
 *
 * Needs `barnabas` on the PATH, or its path in the environment variable BARNABAS.
 */
public final class BarnabasExtension implements BeforeAllCallback, AfterAllCallback {
    private static final Pattern READY = Pattern.compile("barnabas ready (\\S+) data=.*");
    private final List<String> command = new ArrayList<>();
    private Process process;
    private String bootstrapServers;

    /** @param flags further flags of `barnabas serve`, such as "--set", "num.partitions=3" */
    public BarnabasExtension(String... flags) {
        command.add(System.getenv().getOrDefault("BARNABAS", "barnabas"));
        command.addAll(List.of("serve", "--port", "0", "--ephemeral", "--stop-with-stdin", "--log-level", "warning"));
        command.addAll(List.of(flags));
    }

    public String bootstrapServers() {
        return bootstrapServers;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        var out = new BufferedReader(new InputStreamReader(process.getInputStream()));
        String line = out.readLine(); // the first line comes when clients can connect; none, when it cannot start
        Matcher ready = READY.matcher(line == null ? "" : line);
        if (!ready.matches()) {
            throw new IOException(String.join(" ", command) + " did not start");
        }
        bootstrapServers = ready.group(1);
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        if (process == null) {
            return; // it could not be started
        }
        process.getOutputStream().close(); // which ends its stdin, and so the broker
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
    }
}

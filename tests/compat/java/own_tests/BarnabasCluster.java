package barnabas.own;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import kafka.server.KafkaBroker;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.metadata.MetadataCache;

/** What Kafka's own tests take for their cluster: one Barnabas, broker 0. What it cannot say, it refuses to say. */
public final class BarnabasCluster implements InvocationHandler {
    private static final ThreadLocal<BarnabasNode> OF_THIS_THREAD = new ThreadLocal<>();
    private final BarnabasNode node;
    private final KafkaBroker broker = proxy(KafkaBroker.class, this::ofBroker);
    private final ClusterInstance instance = proxy(ClusterInstance.class, this);

    BarnabasCluster(Map<String, String> settings) throws IOException {
        node = new BarnabasNode(settings);
    }

    ClusterInstance instance() {
        return instance;
    }

    /** The metrics of the node whose test runs in this thread; none where it has stopped. */
    public static Stream<String> metrics() throws IOException, InterruptedException {
        BarnabasNode node = OF_THIS_THREAD.get();
        return node != null && node.isRunning() ? node.metrics() : Stream.empty();
    }

    void start() throws IOException {
        OF_THIS_THREAD.set(node);
        node.start();
    }

    void stop() throws IOException, InterruptedException {
        if (node.isRunning()) {
            node.stop();
        }
    }

    @Override
    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "bootstrapServers": return node.address();
            case "brokers": return Map.of(0, broker);
            case "config": return ClusterConfig.defaultBuilder().build();
            case "waitForReadyBrokers": return null; // a node that has started is ready
            case "shutdownBroker": node.stop(); return null;
            case "startBroker": node.start(); return null;
            case "shareConsumer": return ofObject(self, method, reconnectingAtOnce(arguments));
            default: return ofObject(self, method, arguments);
        }
    }

    /**
     * The arguments of a client that connects again at once. The client fails a request for a node to which the next
     * attempt is not due, and tests of restarts do not expect that: Kafka listens long before it is ready.
     */
    private static Object[] reconnectingAtOnce(Object[] arguments) {
        if (arguments == null || !(arguments[0] instanceof Map<?, ?> given)) {
            return arguments;
        }
        Map<Object, Object> settings = new HashMap<>(given);
        settings.put("reconnect.backoff.ms", 0);
        settings.put("reconnect.backoff.max.ms", 0);
        Object[] changed = arguments.clone();
        changed[0] = settings;
        return changed;
    }

    private Object ofBroker(Object self, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "awaitShutdown": return null; // shutdownBroker waits for the end of the process
            case "metadataCache": return proxy(MetadataCache.class, this::ofMetadata);
            default: return ofObject(self, method, arguments);
        }
    }

    private Object ofMetadata(Object self, Method method, Object[] arguments) throws Throwable {
        if (!method.getName().equals("getAliveBrokerNodes")) {
            return ofObject(self, method, arguments);
        }
        String[] address = node.address().split(":");
        return node.isRunning() ? List.of(new Node(0, address[0], Integer.parseInt(address[1]))) : List.of();
    }

    private static Object ofObject(Object self, Method method, Object[] arguments) throws Throwable {
        if (method.isDefault()) {
            return InvocationHandler.invokeDefault(self, method, arguments);
        }
        switch (method.getName()) {
            case "equals": return self == arguments[0];
            case "hashCode": return System.identityHashCode(self);
            case "toString": return "a Barnabas";
            default: throw new UnsupportedOperationException(method.toString());
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}

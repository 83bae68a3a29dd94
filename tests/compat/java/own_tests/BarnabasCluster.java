package barnabas.own;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.controller.Controller;

/** What Kafka's own tests take for their cluster: the nodes of one Barnabas. What it cannot say, it refuses to say. */
public final class BarnabasCluster implements InvocationHandler {
    private static final ThreadLocal<BarnabasProcess> OF_THIS_THREAD = new ThreadLocal<>();
    private final BarnabasProcess barnabas;
    private final Map<Integer, KafkaBroker> brokers = new TreeMap<>();
    private final Map<Integer, ControllerServer> controllers = new Controllers();
    private final ClusterInstance instance = BarnabasBroker.proxy(ClusterInstance.class, this);

    BarnabasCluster(int brokers, Map<String, String> settings, Map<String, Short> features) throws IOException {
        barnabas = new BarnabasProcess(brokers, settings, features);
        controllers.put(0, new ControllerServer(BarnabasBroker.proxy(Controller.class, this::ofController)));
        for (int id = 0; id < brokers; id++) {
            this.brokers.put(id, new BarnabasBroker(id, barnabas, settings).proxy());
        }
    }

    ClusterInstance instance() {
        return instance;
    }

    /** The metrics of the Barnabas whose test runs in this thread; none where it has stopped. */
    public static Stream<String> metrics() throws IOException, InterruptedException {
        BarnabasProcess barnabas = OF_THIS_THREAD.get();
        return barnabas != null && barnabas.isRunning() ? barnabas.metrics() : Stream.empty();
    }

    void start() throws IOException {
        OF_THIS_THREAD.set(barnabas);
        barnabas.start();
    }

    void stop() throws IOException, InterruptedException {
        if (barnabas.isRunning()) {
            barnabas.stop();
        }
    }

    @Override
    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "bootstrapServers": return barnabas.bootstrapServers();
            case "brokers": return brokers;
            case "clientListener": return new ListenerName("PLAINTEXT");
            case "config": return ClusterConfig.defaultBuilder().setBrokers(brokers.size()).build();
            case "controllerIds": return controllers.keySet();
            case "controllers": return controllers;
            case "waitForReadyBrokers": return null; // a node that has started is ready
            case "shutdownBroker": barnabas.stopNode((int) arguments[0]); return null;
            case "startBroker": barnabas.startNode((int) arguments[0]); return null;
            case "shareConsumer": return BarnabasBroker.ofObject(self, method, reconnectingAtOnce(arguments));
            default: return BarnabasBroker.ofObject(self, method, arguments);
        }
    }

    private Object ofController(Object self, Method method, Object[] arguments) throws Throwable {
        if (!method.getName().equals("findAllTopicIds")) {
            return BarnabasBroker.ofObject(self, method, arguments);
        }
        try (Admin admin = barnabas.admin()) {
            var topics = admin.listTopics(new ListTopicsOptions().listInternal(true)).listings().get();
            var ids = topics.stream().collect(Collectors.toMap(TopicListing::name, TopicListing::topicId));
            return CompletableFuture.completedFuture(ids);
        }
    }

    /** One controller, which can be asked. None is listed, as tests wait until brokers know the log of those that are. */
    private static final class Controllers extends HashMap<Integer, ControllerServer> {
        @Override
        public Collection<ControllerServer> values() {
            return List.of();
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
}

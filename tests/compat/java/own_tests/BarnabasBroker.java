package barnabas.own;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import kafka.network.SocketServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.MetadataCache;

/** What Kafka's own tests take for one of their brokers: a node of a Barnabas. What it cannot say, it refuses to say. */
final class BarnabasBroker {
    private final int id;
    private final BarnabasProcess barnabas;
    private final KafkaConfig config;

    BarnabasBroker(int id, BarnabasProcess barnabas, Map<String, String> settings) {
        this.id = id;
        this.barnabas = barnabas;
        var properties = new Properties();
        properties.putAll(Map.of("node.id", String.valueOf(id), "process.roles", "broker"));
        properties.putAll(Map.of("controller.quorum.bootstrap.servers", "localhost:0", "controller.listener.names", "C"));
        properties.putAll(settings);
        config = KafkaConfig.fromProps(properties, false);
    }

    KafkaBroker proxy() {
        return proxy(KafkaBroker.class, this::ofBroker);
    }

    private Object ofBroker(Object self, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "awaitShutdown": return null; // shutdownBroker waits for the end
            case "config": return config;
            case "groupCoordinator": return proxy(GroupCoordinator.class, BarnabasBroker::ofGroupCoordinator);
            case "isShutdown": return running().isEmpty();
            case "metadataCache": return proxy(MetadataCache.class, this::ofMetadata);
            case "socketServer": return new SocketServer(running().orElseThrow().port());
            default: return ofObject(self, method, arguments);
        }
    }

    private Optional<Node> running() {
        return barnabas.runningNodes().stream().filter(node -> node.id() == id).findFirst();
    }

    private static Object ofGroupCoordinator(Object self, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("groupMetadataTopicConfigs")) {
            return new Properties(); // the broker knows how its own topic is configured
        }
        return ofObject(self, method, arguments);
    }

    private Object ofMetadata(Object self, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "getAliveBrokerNodes": return barnabas.runningNodes();
            case "getLeaderAndIsr": return topic((String) arguments[0]).map(topic -> leader(topic, (int) arguments[1]));
            case "numPartitions": return topic((String) arguments[0]).map(topic -> topic.partitions().size());
            default: return ofObject(self, method, arguments);
        }
    }

    private Optional<TopicDescription> topic(String name) throws InterruptedException, ExecutionException {
        try (Admin admin = barnabas.admin()) {
            return Optional.of(admin.describeTopics(List.of(name)).allTopicNames().get().get(name));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private static LeaderAndIsr leader(TopicDescription topic, int partition) {
        TopicPartitionInfo info = topic.partitions().get(partition);
        return new LeaderAndIsr(info.leader().id(), info.isr().stream().map(Node::id).toList());
    }

    /** What every proxy answers: with the interface's own method, as an object, or not at all. */
    static Object ofObject(Object self, Method method, Object[] arguments) throws Throwable {
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

    static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}

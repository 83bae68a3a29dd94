package org.apache.kafka.common.test;

import barnabas.own.BarnabasProcess;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import kafka.server.BrokerServer;

/**
 * In place of Kafka's class of this name, which starts brokers in this JVM: a Barnabas with as many nodes. Kafka's
 * `EmbeddedKafkaCluster`, and so the tests of Streams and of its tools, are made of one. What no test asks of it, it lacks.
 */
public final class KafkaClusterTestKit implements AutoCloseable {
    private final BarnabasProcess barnabas;

    private KafkaClusterTestKit(BarnabasProcess barnabas) {
        this.barnabas = barnabas;
    }

    public void format() {
        // a data directory needs no preparation
    }

    public void startup() throws IOException {
        barnabas.start();
    }

    public void waitForReadyBrokers() {
        // a node that has started is ready
    }

    public String bootstrapServers() {
        return barnabas.bootstrapServers();
    }

    /** The ids of the brokers; of a broker there is nothing in this JVM. */
    public Map<Integer, BrokerServer> brokers() {
        Map<Integer, BrokerServer> brokers = new HashMap<>();
        for (int id = 0; id < barnabas.brokers(); id++) {
            brokers.put(id, null);
        }
        return brokers;
    }

    public MockFaultHandler nonFatalFaultHandler() {
        return new MockFaultHandler("faults of a broker in this JVM");
    }

    @Override
    public void close() throws IOException, InterruptedException {
        if (barnabas.isRunning()) {
            barnabas.stop();
        }
    }

    /** What describes the cluster. */
    public static final class Builder {
        private final int brokers;
        private final Map<String, String> settings = new HashMap<>();

        public Builder(TestKitNodes nodes) {
            brokers = nodes.brokerNodes().size();
            nodes.brokerNodes().values().forEach(node -> {
                if (!node.propertyOverrides().isEmpty()) {
                    throw new UnsupportedOperationException("settings of one broker: " + node.propertyOverrides());
                }
            });
        }

        public Builder setConfigProp(String key, Object value) {
            settings.put(key, String.valueOf(value));
            return this;
        }

        public KafkaClusterTestKit build() throws IOException {
            return new KafkaClusterTestKit(new BarnabasProcess(brokers, settings, Map.of()));
        }
    }
}

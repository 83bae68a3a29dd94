package kafka.network;

import org.apache.kafka.common.network.ListenerName;

/** In place of Kafka's class of this name, where its own tests ask a broker in their JVM for its port. */
public record SocketServer(int port) {
    public int boundPort(ListenerName listener) {
        return port;
    }
}

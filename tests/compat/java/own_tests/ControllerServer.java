package kafka.server;

import org.apache.kafka.controller.Controller;

/** In place of Kafka's class of this name, where its own tests ask the controller in their JVM. */
public record ControllerServer(Controller controller) {
}

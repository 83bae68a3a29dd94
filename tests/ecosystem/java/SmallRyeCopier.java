import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.se.SeContainer;
import jakarta.enterprise.inject.se.SeContainerInitializer;
import org.eclipse.microprofile.reactive.messaging.Incoming;
import org.eclipse.microprofile.reactive.messaging.Outgoing;

/** SmallRyeCopier ADDRESS SOURCE TARGET GROUP DIRECTORY: a bean of SmallRye Reactive Messaging between two topics. */
@ApplicationScoped
public class SmallRyeCopier {
    @Incoming("source")
    @Outgoing("target")
    public String copy(String value) {
        return value;
    }

    public static void main(String[] arguments) throws InterruptedException {
        set("incoming.source.connector", "smallrye-kafka");
        set("incoming.source.bootstrap.servers", arguments[0]);
        set("incoming.source.topic", arguments[1]);
        set("incoming.source.group.id", arguments[3]);
        set("incoming.source.auto.offset.reset", "earliest");
        set("incoming.source.isolation.level", "read_committed");
        set("incoming.source.value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        set("outgoing.target.connector", "smallrye-kafka");
        set("outgoing.target.bootstrap.servers", arguments[0]);
        set("outgoing.target.topic", arguments[2]);
        set("outgoing.target.value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        SeContainer container = SeContainerInitializer.newInstance().addBeanClasses(SmallRyeCopier.class).initialize();
        Runtime.getRuntime().addShutdownHook(new Thread(container::close));
        Thread.currentThread().join();
    }

    private static void set(String key, String value) {
        System.setProperty("mp.messaging." + key, value);
    }
}

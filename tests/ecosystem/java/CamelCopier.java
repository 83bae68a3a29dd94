import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.main.Main;

/** CamelCopier ADDRESS SOURCE TARGET GROUP DIRECTORY: a route of Apache Camel from a topic to another. */
public final class CamelCopier {
    private static final String FROM = "kafka:%s?brokers=%s&groupId=%s&autoOffsetReset=earliest"
            + "&isolationLevel=read_committed&breakOnFirstError=true";

    public static void main(String[] arguments) throws Exception {
        Main camel = new Main();
        camel.configure().addRoutesBuilder(new RouteBuilder() {
            @Override
            public void configure() {
                from(FROM.formatted(arguments[1], arguments[0], arguments[3]))
                        .to("kafka:%s?brokers=%s&lingerMs=0".formatted(arguments[2], arguments[0]));
            }
        });
        camel.run();
    }
}

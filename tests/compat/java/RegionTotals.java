import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsMetadata;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Joins orders with the regions of their customers, and sums them up by region: two repartition topics, two stores.
 *
 *   RegionTotals ADDRESS APPLICATION STATE_DIRECTORY NAME
 *
 * `APPLICATION-orders` has values of the form "CUSTOMER AMOUNT", `APPLICATION-customers` the region of each customer, and
 * `APPLICATION-regions` gets the totals. The program is the static member NAME, at the endpoint NAME:1. Prints each state
 * that it comes to, and for each line of its input where the stores are: "ENDPOINT active PARTITIONS standby PARTITIONS"
 * for each endpoint, then ".". SIGTERM closes it; an exception ends it with status 1.
 */
public final class RegionTotals {
    public static void main(String[] arguments) throws IOException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("application.id", arguments[1]);
        settings.put("state.dir", arguments[2]);
        settings.put("main.consumer.group.instance.id", arguments[3]);
        settings.put("application.server", arguments[3] + ":1");
        settings.put("group.protocol", "streams");
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("commit.interval.ms", "100");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("main.consumer.auto.offset.reset", "earliest");

        KafkaStreams streams = new KafkaStreams(topology(arguments[1]).build(settings), settings);
        streams.setStateListener((state, before) -> {
            System.out.println(state);
            if (state == KafkaStreams.State.ERROR) {
                Runtime.getRuntime().halt(1);
            }
        });
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(30))));
        streams.start();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            streams.metadataForAllStreamsClients().stream()
                .sorted(Comparator.comparing(client -> client.hostInfo().host()))
                .forEach(RegionTotals::print);
            System.out.println(".");
        }
    }

    private static StreamsBuilder topology(String application) {
        StreamsBuilder builder = new StreamsBuilder();
        KTable<String, String> customers = builder.table(
            application + "-customers",
            Consumed.with(Serdes.String(), Serdes.String()),
            Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("customers"));
        builder.stream(application + "-orders", Consumed.with(Serdes.String(), Serdes.String()))
            .selectKey((key, order) -> order.split(" ")[0])
            .mapValues(order -> Long.valueOf(order.split(" ")[1]))
            .join(
                customers,
                (amount, region) -> region + " " + amount,
                Joined.with(Serdes.String(), Serdes.Long(), Serdes.String(), "orders"))
            .selectKey((customer, order) -> order.split(" ")[0])
            .mapValues(order -> Long.valueOf(order.split(" ")[1]))
            .groupByKey(Grouped.with("amounts", Serdes.String(), Serdes.Long()))
            .reduce(Long::sum, Materialized.as("totals"))
            .toStream()
            .mapValues(total -> Long.toString(total))
            .to(application + "-regions", Produced.with(Serdes.String(), Serdes.String()));
        return builder;
    }

    private static void print(StreamsMetadata client) {
        System.out.println(client.hostInfo().host() + ":" + client.hostInfo().port()
            + " active " + names(client.topicPartitions()) + " standby " + names(client.standbyTopicPartitions()));
    }

    private static String names(Set<TopicPartition> partitions) {
        List<String> names = partitions.stream().map(TopicPartition::toString).sorted().toList();
        return names.stream().collect(Collectors.joining(","));
    }
}

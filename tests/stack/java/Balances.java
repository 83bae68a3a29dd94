import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;

/**
 * Two tables of Kafka Streams with exactly_once_v2: payments added up by account, in the store "balances" with a changelog
 * of its own, and names by account, in the store "names", for which the source topic itself is the changelog.
 *
 *   Balances ADDRESS APPLICATION STATE_DIRECTORY PAYMENTS NAMES TO
 *
 * A payment "close" removes the account. Each change of a balance is written to TO, an account that is gone as a tombstone.
 * Prints each state that it comes to. The line "show" on stdin prints what both stores hold, "STORE KEY VALUE", then
 * "shown", or "not yet" while they are being restored. SIGTERM closes it; an exception that nobody expected ends it with
 * status 1.
 */
public final class Balances {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("application.id", arguments[1]);
        settings.put("state.dir", arguments[2]);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("topology.optimization", "all");
        settings.put("default.key.serde", Serdes.String().getClass());
        settings.put("default.value.serde", Serdes.String().getClass());
        settings.put("commit.interval.ms", "100");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("main.consumer.session.timeout.ms", "2000");
        settings.put("main.consumer.heartbeat.interval.ms", "500");
        settings.put("main.consumer.auto.offset.reset", "earliest");

        StreamsBuilder builder = new StreamsBuilder();
        builder.table(arguments[4], Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("names"));
        builder.<String, String>stream(arguments[3])
            .groupByKey()
            .aggregate(
                () -> 0L,
                (account, payment, balance) -> payment.equals("close") ? null : balance + Long.parseLong(payment),
                Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("balances")
                    .withKeySerde(Serdes.String())
                    .withValueSerde(Serdes.Long())
                    .withLoggingEnabled(Map.of(
                        "segment.ms", "300", "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "100")))
            .toStream()
            .mapValues(balance -> balance == null ? null : Long.toString(balance))
            .to(arguments[5], Produced.with(Serdes.String(), Serdes.String()));

        KafkaStreams streams = new KafkaStreams(builder.build(settings), settings);
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
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            System.out.println(show(streams));
        }
    }

    private static String show(KafkaStreams streams) {
        StringBuilder shown = new StringBuilder();
        try {
            for (String name : new String[] {"balances", "names"}) {
                try (KeyValueIterator<String, Object> entries = streams.store(StoreQueryParameters.fromNameAndType(
                        name, QueryableStoreTypes.<String, Object>keyValueStore())).all()) {
                    while (entries.hasNext()) {
                        KeyValue<String, Object> entry = entries.next();
                        shown.append(name + " " + entry.key + " " + entry.value + "\n");
                    }
                }
            }
            return shown + "shown";
        } catch (InvalidStateStoreException restoring) {
            return "not yet";
        }
    }
}

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The word count of Kafka Streams, as its documentation tells it: lines in, for each word the number of times it came.
 *
 *   WordCount ADDRESS APPLICATION STATE_DIRECTORY GUARANTEE PROTOCOL FROM TO [FILE_OF_FURTHER_SETTINGS]
 *
 * Prints each state that it comes to. SIGTERM closes it; an exception that nobody expected ends it with status 1.
 */
public final class WordCount {
    public static void main(String[] arguments) throws InterruptedException, IOException {
        Properties settings = new Properties();
        if (arguments.length > 7) {
            try (Reader file = Files.newBufferedReader(Path.of(arguments[7]))) {
                settings.load(file);
            }
        }
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("application.id", arguments[1]);
        settings.put("state.dir", arguments[2]);
        settings.put("processing.guarantee", arguments[3]);
        settings.put("default.key.serde", Serdes.String().getClass());
        settings.put("default.value.serde", Serdes.String().getClass());
        settings.put("commit.interval.ms", "100");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("repartition.purge.interval.ms", "100");
        settings.put("group.protocol", arguments[4]);
        if (arguments[4].equals("classic")) {  // in the others the broker decides
            settings.put("main.consumer.session.timeout.ms", "2000");
            settings.put("main.consumer.heartbeat.interval.ms", "500");
        }
        settings.put("main.consumer.auto.offset.reset", "earliest");

        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[5])
            .flatMapValues(line -> List.of(line.toLowerCase(Locale.ROOT).split("\\W+")))
            .groupBy((key, word) -> word)
            .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts"))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(arguments[6], Produced.with(Serdes.String(), Serdes.String()));

        CountDownLatch ended = new CountDownLatch(1);
        KafkaStreams streams = new KafkaStreams(builder.build(settings), settings);
        streams.setStateListener((state, before) -> {
            System.out.println(state);
            if (state == KafkaStreams.State.ERROR) {
                ended.countDown();
            }
        });
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(30))));
        streams.start();
        ended.await();
        System.exit(1);
    }
}

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.kafka.receiver.KafkaReceiver;
import reactor.kafka.receiver.ReceiverOptions;
import reactor.kafka.sender.KafkaSender;
import reactor.kafka.sender.SenderOptions;
import reactor.kafka.sender.SenderRecord;
import reactor.kafka.sender.TransactionManager;
import reactor.util.retry.Retry;

/** ReactorCopier ADDRESS SOURCE TARGET GROUP DIRECTORY: copies a topic, a transaction for each poll. */
public final class ReactorCopier {
    public static void main(String[] arguments) {
        Flux.defer(() -> copies(arguments))
                .retryWhen(Retry.fixedDelay(Long.MAX_VALUE, Duration.ofMillis(200)))
                .blockLast();
    }

    private static Flux<Object> copies(String[] arguments) {
        ReceiverOptions<String, String> reading = ReceiverOptions.<String, String>create(Map.of(
                        "bootstrap.servers", arguments[0],
                        "group.id", arguments[3],
                        "auto.offset.reset", "earliest",
                        "isolation.level", "read_committed",
                        "max.poll.records", 20,
                        "key.deserializer", StringDeserializer.class,
                        "value.deserializer", StringDeserializer.class))
                .subscription(List.of(arguments[1]));
        KafkaSender<String, String> sender = KafkaSender.create(SenderOptions.create(Map.of(
                "bootstrap.servers", arguments[0],
                "transactional.id", arguments[3],
                "key.serializer", StringSerializer.class,
                "value.serializer", StringSerializer.class)));
        TransactionManager transactions = sender.transactionManager();
        return KafkaReceiver.create(reading)
                .receiveExactlyOnce(transactions)
                .concatMap(batch -> sender.send(batch.map(record ->
                                SenderRecord.create(arguments[2], null, null, record.key(), record.value(), null)))
                        .then(transactions.commit())
                        .onErrorResume(error -> transactions.abort().then(Mono.error(error))))
                .doFinally(signal -> sender.close());
    }
}

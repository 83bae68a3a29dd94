import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The classic transactional producer: three keyed records for each name that it reads, in one transaction.
 *
 *   TransactionalProducer ADDRESS TRANSACTIONAL_ID TOPIC
 *
 * The line after a name ends its transaction: "commit", or "fail", which is an exception in the middle of the work.
 * Prints "ready", then "sent NAME" and "committed NAME" or "aborted NAME". When another instance has taken over it
 * prints "fenced" and ends with status 3.
 */
public final class TransactionalProducer {
    private static final int FENCED = 3;

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("transactional.id", arguments[1]);
        String topic = arguments[2];
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            System.out.println("ready");
            for (String name = in.readLine(); name != null; name = in.readLine()) {
                try {
                    transaction(producer, topic, name, in);
                } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException over) {
                    System.out.println("fenced");
                    System.exit(FENCED);
                }
            }
        }
    }

    private static void transaction(KafkaProducer<String, String> producer, String topic, String name, BufferedReader in)
            throws Exception {
        try {
            producer.beginTransaction();
            for (int number = 0; number < 3; number++) {
                producer.send(new ProducerRecord<>(topic, "key-" + number, name + "-" + number));
            }
            producer.flush();
            System.out.println("sent " + name);
            if (in.readLine().equals("fail")) {
                throw new IllegalStateException("something went wrong in the middle of the work");
            }
            producer.commitTransaction();
            System.out.println("committed " + name);
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException over) {
            throw over;
        } catch (RuntimeException failure) {
            producer.abortTransaction();
            System.out.println("aborted " + name);
        }
    }
}

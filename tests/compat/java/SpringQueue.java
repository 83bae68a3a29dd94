import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ShareKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.kafka.core.ShareConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties.ShareAckMode;
import org.springframework.kafka.support.ShareAcknowledgment;

/**
 * Two listeners of Spring in the share groups `manual` and `implicit` read ten jobs each.
 *
 *   SpringQueue ADDRESS TOPIC
 *
 * Each job has its number as value. The manual listener releases job 3 twice, and rejects job 7; the implicit one
 * throws at job 5, which Spring rejects. Prints each delivery, and ends when both listeners have finished ten jobs.
 */
public final class SpringQueue {
    private static final CountDownLatch UNFINISHED = new CountDownLatch(20);

    public static void main(String[] arguments) throws InterruptedException {
        System.setProperty("address", arguments[0]);
        System.setProperty("topic", arguments[1]);
        try (var context = new AnnotationConfigApplicationContext(Listeners.class)) {
            UNFINISHED.await();
        }
    }

    @Configuration
    @EnableKafka
    public static class Listeners {
        @Bean
        ShareConsumerFactory<String, String> consumers() {
            return new DefaultShareConsumerFactory<>(
                Map.of("bootstrap.servers", System.getProperty("address")), StringDeserializer::new, StringDeserializer::new);
        }

        @Bean
        ShareKafkaListenerContainerFactory<String, String> manual(ShareConsumerFactory<String, String> consumers) {
            var containers = new ShareKafkaListenerContainerFactory<>(consumers);
            containers.getContainerProperties().setShareAckMode(ShareAckMode.MANUAL);
            containers.setConcurrency(2);
            return containers;
        }

        @Bean
        ShareKafkaListenerContainerFactory<String, String> implicit(ShareConsumerFactory<String, String> consumers) {
            return new ShareKafkaListenerContainerFactory<>(consumers);
        }

        @KafkaListener(topics = "${topic}", groupId = "manual", containerFactory = "manual")
        void acknowledge(ConsumerRecord<String, String> job, ShareAcknowledgment acknowledgment) {
            say("manual", job);
            if (job.value().equals("3") && job.deliveryCount().get() < 3) {
                acknowledgment.release();
                return;
            }
            if (job.value().equals("7")) {
                acknowledgment.reject();
            } else {
                acknowledgment.acknowledge();
            }
            UNFINISHED.countDown();
        }

        @KafkaListener(topics = "${topic}", groupId = "implicit", containerFactory = "implicit")
        void work(ConsumerRecord<String, String> job) {
            say("implicit", job);
            UNFINISHED.countDown();
            if (job.value().equals("5")) {
                throw new IllegalArgumentException("job 5 fails");
            }
        }

        private static void say(String group, ConsumerRecord<String, String> job) {
            System.out.println(group + " " + job.value() + " " + job.deliveryCount().get());
        }
    }
}

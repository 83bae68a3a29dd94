import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.transaction.KafkaTransactionManager;

/** SpringCopier ADDRESS SOURCE TARGET GROUP DIRECTORY: a listener of Spring that writes each batch in a transaction. */
public final class SpringCopier {
    public static void main(String[] arguments) {
        System.setProperty("address", arguments[0]);
        System.setProperty("source", arguments[1]);
        System.setProperty("target", arguments[2]);
        System.setProperty("group", arguments[3]);
        new AnnotationConfigApplicationContext(Copier.class).registerShutdownHook();
    }

    @Configuration
    @EnableKafka
    public static class Copier {
        @Value("${address}")
        private String address;

        @Bean
        ProducerFactory<String, String> producers(@Value("${group}") String prefix) {
            var producers = new DefaultKafkaProducerFactory<>(
                    Map.of("bootstrap.servers", address), new StringSerializer(), new StringSerializer());
            producers.setTransactionIdPrefix(prefix);
            return producers;
        }

        @Bean
        KafkaTemplate<String, String> template(ProducerFactory<String, String> producers) {
            return new KafkaTemplate<>(producers);
        }

        @Bean
        ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory(
                ProducerFactory<String, String> producers) {
            Map<String, Object> reading = Map.of(
                    "bootstrap.servers", address,
                    "auto.offset.reset", "earliest",
                    "isolation.level", "read_committed",
                    "max.poll.records", 20);
            var containers = new ConcurrentKafkaListenerContainerFactory<String, String>();
            containers.setConsumerFactory(new DefaultKafkaConsumerFactory<>(
                    reading, new StringDeserializer(), new StringDeserializer()));
            containers.setBatchListener(true);
            containers.getContainerProperties().setKafkaAwareTransactionManager(new KafkaTransactionManager<>(producers));
            return containers;
        }

        @Bean
        Listener listener(KafkaTemplate<String, String> template, @Value("${target}") String target) {
            return new Listener(template, target);
        }
    }

    public record Listener(KafkaTemplate<String, String> template, String target) {
        @KafkaListener(topics = "${source}", groupId = "${group}")
        public void copy(List<ConsumerRecord<String, String>> records) {
            records.forEach(record -> template.send(target, record.key(), record.value()));
        }
    }
}

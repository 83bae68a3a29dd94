import java.util.Map;
import org.apache.beam.runners.direct.DirectRunner;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.io.kafka.KafkaIO;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** BeamCopier ADDRESS SOURCE TARGET GROUP DIRECTORY: a pipeline of Apache Beam between two topics, in the direct runner. */
public final class BeamCopier {
    public static void main(String[] arguments) {
        PipelineOptions options = PipelineOptionsFactory.create();
        options.setRunner(DirectRunner.class);
        Pipeline pipeline = Pipeline.create(options);
        pipeline.apply(KafkaIO.<String, String>read()
                        .withBootstrapServers(arguments[0])
                        .withTopic(arguments[1])
                        .withKeyDeserializer(StringDeserializer.class)
                        .withValueDeserializer(StringDeserializer.class)
                        .withConsumerConfigUpdates(Map.of("auto.offset.reset", "earliest"))
                        .withReadCommitted()
                        .withoutMetadata())
                .apply(KafkaIO.<String, String>write()
                        .withBootstrapServers(arguments[0])
                        .withTopic(arguments[2])
                        .withKeySerializer(StringSerializer.class)
                        .withValueSerializer(StringSerializer.class)
                        .withEOS(1, arguments[3]));
        pipeline.run().waitUntilFinish();
    }
}

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** FlinkJob ADDRESS SOURCE TARGET GROUP DIRECTORY: a job of Flink on a cluster in this process. */
public final class FlinkJob {
    private static final int CHECKPOINT_MS = 500;

    public static void main(String[] arguments) throws Exception {
        KafkaSource<String> source = KafkaSource.<String>builder()
                .setBootstrapServers(arguments[0])
                .setTopics(arguments[1])
                .setGroupId(arguments[3])
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setProperty("isolation.level", "read_committed")
                .setValueOnlyDeserializer(new SimpleStringSchema())
                .build();
        KafkaSink<String> sink = KafkaSink.<String>builder()
                .setBootstrapServers(arguments[0])
                .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .setTransactionalIdPrefix(arguments[3])
                .setProperty("transaction.timeout.ms", "60000")
                .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                        .setTopic(arguments[2])
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build())
                .build();
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        environment.enableCheckpointing(CHECKPOINT_MS);
        environment.fromSource(source, WatermarkStrategy.noWatermarks(), "in").sinkTo(sink);
        environment.execute();
    }
}

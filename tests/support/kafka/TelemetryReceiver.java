// A plug-in that receives what clients push (KIP-714), for Kafka offers telemetry only where there is one. It reads the
// metrics, so that what is none is refused, and keeps nothing.

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData;

@SuppressWarnings("removal") // of an interface that Kafka 4.4 still calls
public class TelemetryReceiver implements MetricsReporter, ClientTelemetry {
    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return (context, payload) -> {
            try {
                MetricsData.parseFrom(payload.data());
            } catch (Exception unreadable) {
                throw new IllegalArgumentException(unreadable);
            }
        };
    }

    @Override
    public void init(List<KafkaMetric> metrics) {}

    @Override
    public void metricChange(KafkaMetric metric) {}

    @Override
    public void metricRemoval(KafkaMetric metric) {}

    @Override
    public void close() {}

    @Override
    public void configure(Map<String, ?> configs) {}
}

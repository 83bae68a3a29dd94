package org.apache.kafka.server.metrics;

import barnabas.own.BarnabasCluster;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * In place of Kafka's class of this name, where its own tests look for the metrics of the broker in their JVM: the
 * counters of the Barnabas of this test, as it publishes them now. A meter's name ends in its labels, `ackType=Renew`.
 */
public final class KafkaYammerMetrics {
    private static final Pattern COUNTER = Pattern.compile("(\\w+_total)\\{(.+)} ([0-9.e+]+)");

    private KafkaYammerMetrics() {
    }

    public static MetricsRegistry defaultRegistry() {
        var registry = new MetricsRegistry();
        try {
            BarnabasCluster.metrics().map(COUNTER::matcher).filter(Matcher::matches).forEach(sample -> {
                String labels = sample.group(2).replace("\"", "");
                var name = new MetricName("barnabas", "metrics", sample.group(1), labels, sample.group(1) + "," + labels);
                registry.newMeter(name, "events", TimeUnit.SECONDS).mark((long) Double.parseDouble(sample.group(3)));
            });
        } catch (IOException | InterruptedException e) {
            throw new UncheckedIOException(new IOException(e));
        } finally {
            registry.shutdown(); // the threads that compute rates
        }
        return registry;
    }
}

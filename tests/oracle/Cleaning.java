// Cleans partitions with Apache Kafka's own Cleaner, a line of JSON each; tests/support/kafka/cleaning.py asks it.
//
// The log is opened as after a kill, with all of it below the recovery point, cleaned for one round at a time that the question names,
// swapped in by Kafka, and closed. The answer is what the round ended with, and what Kafka knows of active producers.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class Cleaning {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final KafkaScheduler SCHEDULER = new KafkaScheduler(1);
    private static final BrokerTopicStats TOPIC_STATS = new BrokerTopicStats();

    public static void main(String[] arguments) throws Exception {
        SCHEDULER.startup();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = JSON.readTree(line);
            answers.println(question.get("number").asInt() + " " + JSON.writeValueAsString(clean(question)));
        }
        SCHEDULER.shutdown();
    }

    private static Map<String, Object> clean(JsonNode question) throws Exception {
        Time time = new FixedTime(question.get("now_ms").asLong());
        Properties settings = new Properties();
        question.get("config").fields().forEachRemaining(each -> settings.put(each.getKey(), each.getValue().asText()));
        UnifiedLog log = UnifiedLog.create(
            new File(question.get("directory").asText()), new LogConfig(settings), 0L, Long.MAX_VALUE / 2, SCHEDULER,
            TOPIC_STATS, time, 900_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600_000,
            new LogDirFailureChannel(1), false, Optional.empty());
        try {
            log.updateHighWatermark(question.get("high_watermark").asLong());
            Map<String, Object> lastRecords = new HashMap<>();
            log.lastRecordsOfActiveProducers().forEach((id, last) ->
                lastRecords.put(id.toString(), List.of(last.lastDataOffset().orElse(-1), (int) last.producerEpoch())));
            int ioBytes = question.get("io_buffer_bytes").asInt() / 2;
            Cleaner cleaner = new Cleaner(
                0, new SkimpyOffsetMap(question.get("dedupe_buffer_bytes").asInt()), ioBytes, 1 << 20, 0.9,
                new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", time), time, partition -> { });
            long start = System.nanoTime();
            Map.Entry<Long, CleanerStats> result = cleaner.doClean(
                new LogToClean(log, question.get("first_dirty").asLong(), question.get("first_uncleanable").asLong(), false),
                time.milliseconds());
            CleanerStats stats = result.getValue();
            Map<String, Object> answer = new HashMap<>();
            answer.put("nanoseconds", System.nanoTime() - start);
            answer.put("last_stable_offset", log.lastStableOffset());
            answer.put("last_records", lastRecords);
            answer.put("end_offset", result.getKey());
            answer.put("stats", List.of(
                stats.mapMessagesRead(), stats.bytesRead(), stats.messagesRead(), stats.invalidMessagesRead(),
                stats.bytesWritten(), stats.messagesWritten()));
            return answer;
        } finally {
            log.close();
        }
    }

    private record FixedTime(long milliseconds) implements Time {
        public long nanoseconds() {
            return System.nanoTime();
        }

        public void sleep(long ms) {
        }
    }
}

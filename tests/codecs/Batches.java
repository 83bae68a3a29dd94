import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Kafka's own reader and writer of record batches as an oracle. Each line of stdin is one batch in hex; printed are what
 * Kafka reads in it, and behind a bar the same records as Kafka writes them with the same codec.
 */
public class Batches {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(line)));
            RecordBatch batch = records.firstBatch();
            batch.ensureValid();
            out.print(describe(batch) + '|' + rewrite(batch) + '\n');
        }
        out.flush();
    }

    static String describe(RecordBatch batch) {
        List<String> parts = new ArrayList<>();
        parts.add(String.format("%d,%d,%d,%d,%d,%s", batch.baseOffset(), batch.lastOffset(), batch.producerId(),
            batch.baseSequence(), batch.maxTimestamp(), batch.compressionType().name));
        for (Record record : batch) {
            List<String> fields = new ArrayList<>();
            fields.add(Long.toString(record.offset()));
            fields.add(Long.toString(record.timestamp()));
            fields.add(hex(record.key()));
            fields.add(hex(record.value()));
            for (Header header : record.headers()) {
                fields.add(HEX.formatHex(header.key().getBytes(StandardCharsets.UTF_8)));
                fields.add(header.value() == null ? "null" : HEX.formatHex(header.value()));
            }
            parts.add(String.join(",", fields));
        }
        return String.join(";", parts);
    }

    static String hex(ByteBuffer data) {
        if (data == null) return "null";
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return HEX.formatHex(bytes);
    }

    static String rewrite(RecordBatch batch) {
        Compression codec = Compression.of(batch.compressionType()).build();
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1024), RecordBatch.MAGIC_VALUE_V2, codec,
            batch.timestampType(), batch.baseOffset(), RecordBatch.NO_TIMESTAMP, batch.producerId(), batch.producerEpoch(),
            batch.baseSequence(), batch.isTransactional(), batch.partitionLeaderEpoch());
        for (Record record : batch) builder.append(record);
        ByteBuffer built = builder.build().buffer();
        byte[] bytes = new byte[built.remaining()];
        built.get(bytes);
        return HEX.formatHex(bytes);
    }
}

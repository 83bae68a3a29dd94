import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.coordinator.transaction.TransactionLog;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.server.common.TransactionVersion;

/**
 * Kafka's transaction coordinator as an oracle for its records. Each line of stdin is "transaction.version key value" in
 * hex, "-" for no value; what the coordinator makes of it is printed, and the value as it would write it again.
 */
public class Transactions {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            System.out.println(read(Short.parseShort(words[0]), buffer(words[1]), words[2].equals("-") ? null : buffer(words[2])));
        }
    }

    static ByteBuffer buffer(String hex) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(hex));
    }

    static String read(short version, ByteBuffer key, ByteBuffer value) {
        TransactionLog.ReadResult result = TransactionLog.read(key, value);
        if (result instanceof TransactionLog.TxnTombstone tombstone) {
            return tombstone.transactionId() + " removed";
        }
        TransactionMetadata txn = ((TransactionLog.TxnRecord) result).metadata();
        byte[] again = TransactionLog.valueToBytes(txn.prepareNoTransit(), TransactionVersion.fromFeatureLevel(version));
        return String.join(" ", txn.transactionalId(), txn.state().stateName(), "" + txn.producerId(), "" + txn.producerEpoch(),
            "" + txn.prevProducerId(), "" + txn.txnTimeoutMs(), "" + txn.topicPartitions().size(), "" + txn.txnStartTimestamp(),
            "" + txn.txnLastUpdateTimestamp(), "" + txn.clientTransactionVersion().featureLevel(), HexFormat.of().formatHex(again));
    }
}

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.errors.RefreshRetriableException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Kafka's own generated classes as an oracle. Each line of stdin is "class version hex"; the message is read and written
 * again, and the new hex is printed, or what went wrong. Without input, the error codes are printed instead:
 * "code name retriable refresh".
 */
public class Reread {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            for (Errors error : Errors.values()) {
                System.out.printf("%d %s %b %b%n", error.code(), error.name(),
                    error.exception() instanceof RetriableException,
                    error.exception() instanceof RefreshRetriableException);
            }
            return;
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            out.append(reread(words[0], Short.parseShort(words[1]), words[2])).append('\n');
        }
        System.out.print(out);
    }

    static String reread(String name, short version, String hex) throws Exception {
        Message message = (Message) Class.forName(name).getDeclaredConstructor().newInstance();
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
        try {
            message.read(new ByteBufferAccessor(bytes), version);
        } catch (RuntimeException broken) {
            return "unreadable: " + broken;
        }
        if (bytes.hasRemaining()) {
            return bytes.remaining() + " bytes left over";
        }
        ByteBuffer written = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] array = new byte[written.remaining()];
        written.get(array);
        return HexFormat.of().formatHex(array);
    }
}

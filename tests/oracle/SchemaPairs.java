// Answers questions about schemas, a line of JSON each: what Avro's library and Apicurio's rules say of a pair, and what
// Avro's library prints. tests/support/kafka/schema_pairs.py asks them.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.apicurio.registry.content.ContentHandle;
import io.apicurio.registry.content.TypedContent;
import io.apicurio.registry.rules.compatibility.CompatibilityChecker;
import io.apicurio.registry.rules.compatibility.CompatibilityLevel;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

public class SchemaPairs {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = JSON.readTree(line);
            System.out.println(question.get("number").asInt() + " " + JSON.writeValueAsString(answer(question)));
        }
    }

    private static Object answer(JsonNode question) {
        try {
            if (question.has("text")) {
                return printed(question);
            }
            String original = question.get("original").asText();
            String update = question.get("update").asText();
            return switch (question.get("language").asText()) {
                case "AVRO" -> avro(original, update);
                case "JSON" -> isTaken(new io.apicurio.registry.json.rules.compatibility.JsonSchemaCompatibilityChecker(), original, update);
                default -> isTaken(new io.apicurio.registry.protobuf.rules.compatibility.ProtobufCompatibilityChecker(), original, update);
            };
        } catch (Exception | StackOverflowError error) {
            return Map.of("error", String.valueOf(error.getClass().getSimpleName()));
        }
    }

    private static List<String> avro(String original, String update) {
        List<String> reasons = new ArrayList<>();
        SchemaCompatibility.checkReaderWriterCompatibility(parser().parse(update), parser().parse(original))
            .getResult().getIncompatibilities()
            .forEach(reason -> reasons.add(reason.getType() + " " + reason.getLocation() + " " + reason.getMessage()));
        return reasons;
    }

    private static boolean isTaken(CompatibilityChecker checker, String original, String update) {
        return checker.testCompatibility(
            CompatibilityLevel.BACKWARD, List.of(content(original)), content(update), Map.of()).isCompatible();
    }

    private static TypedContent content(String text) {
        return TypedContent.create(ContentHandle.create(text), "application/json");
    }

    @SuppressWarnings("deprecation")
    private static String printed(JsonNode question) {
        Schema.Parser parser = parser();
        List<Schema> references = new ArrayList<>();
        question.get("references").forEach(reference -> references.add(parser.parse(reference.asText())));
        return parser.parse(question.get("text").asText()).toString(references, false);
    }

    private static Schema.Parser parser() {
        return new Schema.Parser(NameValidator.STRICT_VALIDATOR);
    }
}

// Says what Java and Apache Kafka read in texts that people write. A line of stdin is a question: its kind, then words of
// UTF-16 in hexadecimal, all separated by spaces. Answers a line each: "refused", or "ok" and words likewise.
//   properties  the bytes of a file, a character each: its keys and values
//   modules     a value of sasl.jaas.config: for each module "it", class, flag, number of options, these
//   file        a JAAS file: the same of the sections KafkaServer and a.KafkaServer, with their names for "it"
//   rules       ssl.principal.mapping.rules, and names: what each is mapped to; none, or error for an exception

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.URIParameter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;
import org.apache.kafka.common.utils.Utils;

public class Texts {
    private static final Path FILE = Path.of(System.getProperty("java.io.tmpdir"), "texts-" + ProcessHandle.current().pid());

    public static void main(String[] arguments) throws Exception {
        System.setProperty("a.property", "what it says");
        System.setProperty("an.empty.one", "");
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] words = line.split(" ", -1);
            List<String> told = new ArrayList<>();
            try {
                String text = decoded(words[1]);
                switch (words[0]) {
                    case "properties" -> properties(text, told);
                    case "modules" -> modules(text, told);
                    case "file" -> file(text, told);
                    default -> rules(text, List.of(words).subList(2, words.length), told);
                }
                System.out.println(String.join(" ", told));
            } catch (Exception refused) {
                System.out.println("refused");
            }
        }
        Files.deleteIfExists(FILE);
    }

    private static void properties(String text, List<String> told) throws Exception {
        Files.write(FILE, text.getBytes(StandardCharsets.ISO_8859_1));
        Properties read = Utils.loadProps(FILE.toString());
        told.add("ok");
        read.forEach((key, value) -> told.addAll(List.of(encoded((String) key), encoded((String) value))));
    }

    private static void modules(String text, List<String> told) throws Exception {
        Constructor<?> parser = Class.forName("org.apache.kafka.common.security.JaasConfig")
            .getDeclaredConstructor(String.class, String.class);
        parser.setAccessible(true);
        Configuration parsed = (Configuration) parser.newInstance("it", text);
        told.add("ok");
        for (AppConfigurationEntry module : parsed.getAppConfigurationEntry("it")) module("it", module, told);
    }

    private static void file(String text, List<String> told) throws Exception {
        Files.writeString(FILE, text);
        Configuration parsed = Configuration.getInstance("JavaLoginConfig", new URIParameter(FILE.toUri()));
        told.add("ok");
        for (String name : List.of("KafkaServer", "a.KafkaServer")) {
            AppConfigurationEntry[] modules = parsed.getAppConfigurationEntry(name);
            for (int at = 0; modules != null && at < modules.length; at++) module(name, modules[at], told);
        }
    }

    private static void module(String section, AppConfigurationEntry module, List<String> told) {
        Map<String, ?> options = module.getOptions();
        String flag = module.getControlFlag().toString().replaceAll(".*: ", "");
        told.addAll(List.of(encoded(section), encoded(module.getLoginModuleName()), encoded(flag)));
        told.add(encoded(String.valueOf(options.keySet().stream().filter(key -> key != null).count())));
        options.forEach((key, value) -> {
            if (key != null) told.addAll(List.of(encoded(key), encoded((String) value)));
        });
    }

    private static void rules(String text, List<String> names, List<String> told) {
        SslPrincipalMapper mapper = SslPrincipalMapper.fromRules(text);
        told.add("ok");
        for (String name : names) {
            try {
                told.add(encoded(mapper.getName(decoded(name))));
            } catch (java.io.IOException none) {
                told.add("none");
            } catch (RuntimeException | StackOverflowError wrong) {
                told.add("error");
            }
        }
    }

    private static String decoded(String word) {
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < word.length(); at += 4) text.append((char) Integer.parseInt(word.substring(at, at + 4), 16));
        return text.toString();
    }

    private static String encoded(String text) {
        StringBuilder word = new StringBuilder("=");
        for (int at = 0; at < text.length(); at++) word.append(String.format("%04x", (int) text.charAt(at)));
        return word.toString();
    }
}

package barnabas.own;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.api.ClusterConfigProperty;
import org.apache.kafka.common.test.api.ClusterTest;
import org.apache.kafka.common.test.api.ClusterTestDefaults;
import org.apache.kafka.common.test.api.ClusterTests;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;

/**
 * JUnit: gives each of Kafka's own cluster tests a Barnabas of its own, in place of the cluster in this JVM that Kafka's
 * extension makes. Settings and features are those that its annotations name.
 */
public final class BarnabasClusters implements TestTemplateInvocationContextProvider {
    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return tests(context.getRequiredTestMethod()).findAny().isPresent();
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        ClusterTestDefaults defaults = context.getRequiredTestClass().getAnnotation(ClusterTestDefaults.class);
        return tests(context.getRequiredTestMethod()).map(test -> new Invocation(defaults, test));
    }

    private static Stream<ClusterTest> tests(Method method) {
        ClusterTests several = method.getAnnotation(ClusterTests.class);
        ClusterTest one = method.getAnnotation(ClusterTest.class);
        return Stream.concat(several == null ? Stream.empty() : Stream.of(several.value()), Stream.ofNullable(one));
    }

    private record Invocation(ClusterTestDefaults defaults, ClusterTest test) implements TestTemplateInvocationContext {
        @Override
        public List<Extension> getAdditionalExtensions() {
            Map<String, String> settings = new LinkedHashMap<>();
            Stream.concat(Arrays.stream(ofClass()), Arrays.stream(test.serverProperties())).forEach(property -> {
                if (property.id() != -1) {
                    throw new UnsupportedOperationException("a setting of one broker: " + property);
                }
                settings.put(property.key(), property.value());
            });
            Map<String, Short> features = new LinkedHashMap<>();
            Arrays.stream(test.features()).forEach(each -> features.put(each.feature().featureName(), each.version()));
            try {
                return List.of(new OfOneTest(new BarnabasCluster(brokers(), settings, features)));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private int brokers() {
            int ofClass = defaults == null ? 1 : defaults.brokers();
            return test.brokers() == 0 ? ofClass : test.brokers();
        }

        private ClusterConfigProperty[] ofClass() {
            return defaults == null ? new ClusterConfigProperty[0] : defaults.serverProperties();
        }
    }

    private record OfOneTest(BarnabasCluster cluster) implements BeforeEachCallback, AfterEachCallback, ParameterResolver {
        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == ClusterInstance.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return cluster.instance();
        }

        @Override
        public void beforeEach(ExtensionContext context) throws IOException {
            cluster.start();
        }

        @Override
        public void afterEach(ExtensionContext context) throws Exception {
            cluster.stop();
        }
    }
}

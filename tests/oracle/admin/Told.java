import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * What a result says, as lines: where in it, and the value. Everything is found by reflection, so nothing is left out:
 * a result's methods without parameters, its methods that take one of the things asked for, and the getters of values.
 *
 * What differs between two brokers, or two runs, has a word in its place: ids, the time, ports and paths.
 */
final class Told {
    private static final Set<String> NOT_GETTERS = Set.of("hashCode", "toString", "getClass", "notify", "notifyAll", "wait",
        "isEmpty", "hasRack", "describeConstable");
    private static final long HOUR_MS = 3_600_000;
    private static final String DIRECTORY_ID = "directoryId=[\\w-]{22}";
    private static final String CLUSTER_ID = "(?<=cluster id \\W?)[\\w-]{22}";
    private static final String UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

    final TreeMap<String, String> lines = new TreeMap<>();

    void add(String where, String value) {
        lines.put(where, value.replace("\n", "\\n"));
    }

    /** Tells all of a result of Admin, or of a plain value. `asked`: the arguments of the call. */
    void result(Object result, Object[] asked) throws Exception {
        if (result == null || !result.getClass().getSimpleName().endsWith("Result")) {
            add("", value(result));
            return;
        }
        boolean hasParts = false;
        for (Method method : result.getClass().getMethods()) {
            hasParts |= isOfResult(method) && !isOfAll(method);
        }
        for (Method method : result.getClass().getMethods()) {
            if (!isOfResult(method)) {
                continue;
            }
            if (hasParts && isOfAll(method)) {  // it fails with any of the failures of the parts
                add(method.getName(), resolved(() -> method.invoke(result)) instanceof Throwable ? "fails" : "succeeds");
            } else if (method.getParameterCount() == 0) {
                spread(method.getName(), resolved(() -> method.invoke(result)));
            } else if (method.getParameterCount() == 1) {
                for (Object key : keys(asked)) {
                    if (method.getParameterTypes()[0].isInstance(key)) {
                        spread(method.getName() + "(" + text(key) + ")", resolved(() -> method.invoke(result, key)));
                    }
                }
            }
        }
    }

    private static boolean isOfResult(Method method) {
        return method.getDeclaringClass() != Object.class && !Modifier.isStatic(method.getModifiers());
    }

    private static boolean isOfAll(Method method) {
        return method.getParameterCount() == 0 && method.getName().startsWith("all");
    }

    /** One line for each element of a map, and for each setting of a resource; otherwise one line. */
    private void spread(String where, Object value) {
        if (value instanceof Map<?, ?> map && !map.isEmpty()) {
            map.forEach((key, each) -> spread(where + "." + text(key), resolved(() -> each)));
        } else if (value instanceof org.apache.kafka.clients.admin.Config config) {
            for (ConfigEntry entry : config.entries()) {
                add(where + "." + entry.name(), value(entry));
            }
        } else {
            add(where, value(value));
        }
    }

    private interface Getter {
        Object get() throws Exception;
    }

    /** What a future holds; a failure stands for itself. */
    private static Object resolved(Getter getter) {
        try {
            Object value = getter.get();
            return value instanceof KafkaFuture<?> future ? future.get(Sweep.TIMEOUT_MS, TimeUnit.MILLISECONDS) : value;
        } catch (Exception failure) {
            return cause(failure);
        }
    }

    private static Throwable cause(Throwable failure) {
        boolean isWrapper = failure instanceof ExecutionException || failure instanceof InvocationTargetException
            || failure instanceof CompletionException;
        return isWrapper && failure.getCause() != null ? cause(failure.getCause()) : failure;
    }

    static String failure(Throwable failure) {
        Throwable cause = cause(failure);
        if (cause instanceof TimeoutException) {  // its message tells of tries and times, or nothing
            return "TimeoutException";
        }
        return cause.getClass().getSimpleName() + ": " + masked(String.valueOf(cause.getMessage()));
    }

    /** The things that a call was about: names, partitions, numbers, at any depth of its arguments. */
    private static List<Object> keys(Object[] asked) throws Exception {
        List<Object> found = new ArrayList<>();
        for (Object argument : asked) {
            if (argument instanceof TopicCollection.TopicNameCollection names) {
                found.addAll(names.topicNames());
            } else if (argument instanceof Map<?, ?> map) {
                found.addAll(map.keySet());
            } else if (argument instanceof Collection<?> collection) {
                for (Object each : collection) {
                    found.add(each instanceof org.apache.kafka.clients.admin.NewTopic topic ? topic.name() : each);
                }
            } else if (argument instanceof org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions options) {
                found.addAll(options.members());
            } else {
                found.add(argument);
            }
        }
        return found;
    }

    /** A key, on one line and short. */
    private static String text(Object key) {
        return key instanceof Uuid || key instanceof org.apache.kafka.clients.admin.MemberToRemove
            ? value(key) : masked(String.valueOf(key));
    }

    static String value(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof KafkaFuture<?>) {
            return value(resolved(() -> value));
        }
        if (value instanceof Throwable failure) {
            return failure(failure);
        }
        if (value instanceof Long number) {
            return Math.abs(number - System.currentTimeMillis()) < HOUR_MS ? "<now>" : number.toString();
        }
        if (value instanceof Uuid id) {
            return id.equals(Uuid.ZERO_UUID) ? "<no id>" : "<id>";
        }
        if (value instanceof Optional<?> optional) {
            return optional.map(Told::value).orElse("none");
        }
        if (value instanceof OptionalLong optional) {
            return optional.isPresent() ? value(optional.getAsLong()) : "none";
        }
        if (value instanceof OptionalInt optional) {
            return optional.isPresent() ? value(optional.getAsInt()) : "none";
        }
        if (value instanceof Map<?, ?> map) {
            Stream<String> texts = map.entrySet().stream().map(each -> text(each.getKey()) + ": " + value(each.getValue()));
            return sorted(texts, "{", "}");
        }
        if (value instanceof Collection<?> collection) {
            return sorted(collection.stream().map(Told::value), "[", "]");
        }
        if (value instanceof byte[] bytes) {
            return Arrays.toString(bytes);
        }
        boolean isOfKafka = value.getClass().getName().startsWith("org.apache.kafka.") && !(value instanceof Enum<?>);
        return isOfKafka ? ofKafka(value) : masked(value.toString());
    }

    /** A value of one of Kafka's classes: what its getters say. */
    private static String ofKafka(Object value) {
        List<Method> getters = new ArrayList<>();
        for (Method method : value.getClass().getMethods()) {
            boolean isGetter = method.getParameterCount() == 0 && method.getReturnType() != void.class
                && method.getReturnType() != value.getClass() && !Modifier.isStatic(method.getModifiers())
                && method.getDeclaringClass() != Object.class && !method.isSynthetic();
            if (isGetter && !NOT_GETTERS.contains(method.getName())) {
                getters.add(method);
            }
        }
        getters.sort(Comparator.comparing(Method::getName));
        List<String> told = new ArrayList<>();
        for (Method getter : getters) {
            getter.setAccessible(true);
            Object got = resolved(() -> getter.invoke(value));
            told.add(getter.getName() + "=" + (changesAnyway(getter) && got != null ? "<any>" : value(got)));
        }
        return "(" + String.join(", ", told) + ")";
    }

    /** What a setting is good for, each broker says in its own words; and what is free on a disk changes all the time. */
    private static boolean changesAnyway(Method getter) {
        return getter.getDeclaringClass() == ConfigEntry.class && getter.getName().equals("documentation")
            || getter.getName().equals("usableBytes");
    }

    private static String sorted(Stream<String> texts, String open, String close) {
        return texts.sorted().collect(Collectors.joining(", ", open, close));
    }

    private static String masked(String text) {
        return text.replaceAll(UUID, "<uuid>").replaceAll(DIRECTORY_ID, "directoryId=<id>").replaceAll(CLUSTER_ID, "<id>");
    }
}

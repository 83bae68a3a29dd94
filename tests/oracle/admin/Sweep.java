import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;

/**
 * Makes every call that the Java AdminClient has, to one broker, and prints what came of each.
 *
 * The argument is the broker's address. A line of stdout is `method | what was asked | where in the answer | value`.
 * The last line, `uncalled | ...`, names the public methods of Admin that no call went through: Admin is wrapped in a
 * proxy that notes them, so a method that a later client adds is named there until it is called.
 */
public final class Sweep implements InvocationHandler {
    static final int TIMEOUT_MS = 15_000;
    static final int SOON_MS = 300;  // for calls that can only end by their time

    private final String address;
    private final Admin behind;
    private final Admin noting;
    private final TreeSet<String> uncalled = new TreeSet<>();
    private String method;
    private Object[] asked;

    /** What is done with an Admin, and gives something to tell. */
    interface Call {
        Object of(Admin admin) throws Exception;
    }

    /** A state of the broker that is waited for. */
    interface Condition {
        boolean holds(Admin admin) throws Exception;
    }

    private Sweep(String address) {
        this.address = address;
        for (Method each : Admin.class.getMethods()) {
            uncalled.add(signature(each));
        }
        behind = Admin.create(settings());
        noting = (Admin) Proxy.newProxyInstance(Sweep.class.getClassLoader(), new Class<?>[] {Admin.class}, this);
    }

    public static void main(String[] arguments) throws Exception {
        Sweep sweep = new Sweep(arguments[0]);
        try (Inhabitants inhabitants = new Inhabitants(arguments[0])) {
            Topics.sweep(sweep, inhabitants);
            Configs.sweep(sweep);
            Groups.sweep(sweep, inhabitants);
            OtherGroups.sweep(sweep);
            Transactions.sweep(sweep, inhabitants);
            Cluster.sweep(sweep);
            Security.sweep(sweep);
            Topics.end(sweep);
        }
        sweep.ends();
        System.out.println("uncalled | " + String.join("; ", sweep.uncalled));
    }

    /** Makes a call and prints what it gave. `as` says in words what is asked for. */
    void ask(String as, Call call) {
        Told told = new Told();
        try {
            Object result = call.of(noting);
            told.result(result, asked);
        } catch (Throwable failure) {
            told.add("", Told.failure(failure));
        }
        for (Map.Entry<String, String> line : told.lines.entrySet()) {
            System.out.println(String.join(" | ", method, as, line.getKey(), line.getValue()));
        }
    }

    /** Waits until what was changed can be seen: a broker of Kafka learns of it after its controller has answered. */
    void until(Condition condition) throws Exception {
        long end = System.nanoTime() + TIMEOUT_MS * 1_000_000L;
        while (!isSo(condition)) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("waited in vain after " + method);
            }
            Thread.sleep(5); // a broker of Kafka does not tell when it has learnt of a change
        }
    }

    private boolean isSo(Condition condition) {
        try {
            return condition.holds(behind);
        } catch (Exception notYet) {
            return false;
        }
    }

    @Override
    public Object invoke(Object proxy, Method called, Object[] arguments) throws Throwable {
        uncalled.remove(signature(called));
        method = called.getName();
        asked = arguments == null ? new Object[0] : arguments;
        try {
            return called.invoke(behind, arguments);
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }

    /** Admins are made and closed: those are methods, too. */
    private void ends() {
        method = "create";
        Properties properties = new Properties();
        properties.putAll(settings());
        ask("from a map, then closed", unused -> closed(Admin.create(settings()), false));
        ask("from properties, then closed in time", unused -> closed(Admin.create(properties), true));
        behind.close();
        for (Method each : Admin.class.getMethods()) {
            if (each.getName().equals("close") || Modifier.isStatic(each.getModifiers())) {
                uncalled.remove(signature(each));
            }
        }
    }

    private static Object closed(Admin admin, boolean inTime) throws Exception {
        Object nodes = admin.describeCluster().nodes().get().size();
        if (inTime) {
            admin.close(Duration.ofSeconds(5));
        } else {
            admin.close();
        }
        return nodes;
    }

    private Map<String, Object> settings() {
        return Map.of("bootstrap.servers", address, "client.id", "sweep", "default.api.timeout.ms", TIMEOUT_MS,
            "enable.metrics.push", true, "request.timeout.ms", TIMEOUT_MS);
    }

    private static String signature(Method method) {
        return method.getName() + Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName)
            .collect(Collectors.joining(", ", "(", ")"));
    }
}

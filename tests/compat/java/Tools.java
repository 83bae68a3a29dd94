import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Kafka's command-line tools as a servant, so that one start of a JVM runs many of them, one after the other. Each run
 * sees its tool as new: the classes of the tools are loaded again, since some of them count in static fields.
 *
 * A line on stdin asks for a run: the main class, stdin, and the arguments, separated by tabs; all but the class are
 * base64. The answer is one line: exit status, stdout, stderr; a tool that does not end has the status -1, and where
 * it stands is added to its stderr. A tool whose main returns has the status 0, or the one that it tried to end with.
 */
public final class Tools {
    private static final int TIMEOUT_MS = 60_000;
    private static final int HANGS = -1;
    private static final int HOOK_TIMEOUT_MS = 10_000;
    private static final List<Runnable> HOOKS = Collections.synchronizedList(new ArrayList<>());

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Redirected out = new Redirected();
        Redirected err = new Redirected();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> { throw new Exited(status); });
        Exit.setHaltProcedure((status, message) -> { throw new Exited(status); });
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            runHooks();
            out.take();
            err.take();
            String[] words = line.split("\t", -1);
            List<String> toolArguments = new ArrayList<>();
            for (int i = 2; i < words.length; i++) {
                toolArguments.add(new String(Base64.getDecoder().decode(words[i]), StandardCharsets.UTF_8));
            }
            InputStream stdin = new ByteArrayInputStream(Base64.getDecoder().decode(words[1]));
            int status = run(words[0], stdin, toolArguments.toArray(new String[0]));
            answers.println(status + "\t" + out.take() + "\t" + err.take());
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static int run(String mainClass, InputStream stdin, String[] arguments) throws Exception {
        Run run = new Run(mainClass, arguments);
        System.setIn(stdin);
        try (URLClassLoader loader = new ToolLoader()) {
            run.setContextClassLoader(loader);
            run.start();
            run.join(TIMEOUT_MS);
            if (run.isAlive()) {
                System.err.println(mainClass + " does not end:");
                for (StackTraceElement frame : run.getStackTrace()) {
                    System.err.println("\tat " + frame);
                }
                return HANGS;
            }
        }
        return run.status;
    }

    /**
     * Closes what the tool before left open, as the end of its process would: a producer would stay, and some minutes
     * later print that its broker is gone. Until here it may send its metrics, for which a short run has no time.
     */
    private static void runHooks() throws InterruptedException {
        for (Runnable hook : List.copyOf(HOOKS)) {
            Thread thread = new Thread(hook, "hook");
            thread.setDaemon(true);
            thread.start();
            thread.join(HOOK_TIMEOUT_MS);
        }
        HOOKS.clear();
    }

    /** The first exit counts: a tool that catches everything meets its own exit there, and exits again. */
    private static final class Run extends Thread {
        private final String mainClass;
        private final String[] arguments;
        private volatile int status;

        Run(String mainClass, String[] arguments) {
            super("tool");
            this.mainClass = mainClass;
            this.arguments = arguments;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                Class<?> tool = Class.forName(mainClass, true, getContextClassLoader());
                tool.getMethod("main", String[].class).invoke(null, (Object) arguments);
                status = Exited.FIRST.get() == null ? 0 : Exited.FIRST.get();
            } catch (ReflectiveOperationException failure) {
                Throwable cause = failure.getCause() == null ? failure : failure.getCause();
                if (cause instanceof Exited exited) {
                    status = exited.first;
                } else {
                    cause.printStackTrace();
                    status = 1;
                }
            }
        }
    }

    /** Stands for the end of the process. */
    private static final class Exited extends Error {
        private static final ThreadLocal<Integer> FIRST = new ThreadLocal<>();
        private final int first;

        Exited(int status) {
            super("exit " + status, null, false, false);
            if (FIRST.get() == null) {
                FIRST.set(status);
            }
            this.first = FIRST.get();
        }
    }

    /** Loads the tools' classes itself, and everything else through its parent. */
    private static final class ToolLoader extends URLClassLoader {
        private static final Set<String> JARS = Set.of("kafka-tools", "kafka_2.13");

        ToolLoader() throws Exception {
            super(jars(), Tools.class.getClassLoader());
        }

        private static URL[] jars() throws Exception {
            List<URL> urls = new ArrayList<>();
            for (String entry : System.getProperty("java.class.path").split(":")) {
                String name = Path.of(entry).getFileName().toString();
                if (JARS.contains(name.replaceFirst("-[0-9.]+\\.jar$", ""))) {
                    urls.add(Path.of(entry).toUri().toURL());
                }
            }
            return urls.toArray(new URL[0]);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                if (findLoadedClass(name) == null && (name.startsWith("kafka.") || name.startsWith("org.apache.kafka.tools."))) {
                    try {
                        return findClass(name);
                    } catch (ClassNotFoundException elsewhere) {
                        return super.loadClass(name, resolve);
                    }
                }
                return super.loadClass(name, resolve);
            }
        }
    }

    /** What is printed, until it is taken. */
    private static final class Redirected extends OutputStream {
        private ByteArrayOutputStream printed = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int octet) {
            printed.write(octet);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) {
            printed.write(bytes, offset, length);
        }

        synchronized String take() {
            String taken = Base64.getEncoder().encodeToString(printed.toByteArray());
            printed = new ByteArrayOutputStream();
            return taken;
        }
    }
}

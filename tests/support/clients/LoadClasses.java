import java.util.jar.JarFile;

/** Loads the classes of some jars and ends, so that the JVM can keep them in an archive. Some want others, and fail. */
public final class LoadClasses {
    public static void main(String[] jars) throws Exception {
        for (String path : jars) {
            try (JarFile jar = new JarFile(path)) {
                jar.stream().map(entry -> entry.getName()).filter(LoadClasses::isClass).forEach(LoadClasses::load);
            }
        }
    }

    private static boolean isClass(String name) {
        return name.endsWith(".class") && !name.startsWith("META-INF") && !name.endsWith("-info.class");
    }

    private static void load(String name) {
        String className = name.substring(0, name.length() - ".class".length()).replace('/', '.');
        try {
            Class.forName(className, false, LoadClasses.class.getClassLoader());
        } catch (ClassNotFoundException | LinkageError absent) {
            return;
        }
    }
}

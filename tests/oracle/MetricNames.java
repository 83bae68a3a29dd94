// Prints the names of a JVM's metrics: of the MBeans of a JMX port whose type is one of the arguments behind it. A line
// each: the type, the name in JMX, its kind as `gauge`, `counter` or `histogram`, its value and its labels, by tabs.

import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

public class MetricNames {
    public static void main(String[] arguments) throws Exception {
        String address = "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + arguments[0] + "/jmxrmi";
        List<String> types = Arrays.asList(arguments).subList(1, arguments.length);
        TreeSet<String> lines = new TreeSet<>();
        try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(address))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            for (ObjectName bean : server.queryNames(new ObjectName("kafka*:*"), null))
                if (types.contains(bean.getKeyProperty("type")))
                    add(server, bean, lines);
        }
        lines.forEach(System.out::println);
    }

    private static void add(MBeanServerConnection server, ObjectName bean, TreeSet<String> lines) throws Exception {
        TreeMap<String, String> labels = new TreeMap<>(bean.getKeyPropertyList());
        String type = labels.remove("type"), name = labels.remove("name");
        TreeSet<String> attributes = new TreeSet<>();
        for (MBeanAttributeInfo each : server.getMBeanInfo(bean).getAttributes())
            attributes.add(each.getName());
        if (name == null) {  // of Kafka's own library: each attribute is a metric
            for (String attribute : attributes)
                lines.add(line(type, attribute, "gauge", server.getAttribute(bean, attribute), labels));
        } else {
            String kind = attributes.contains("Value") ? "gauge" : attributes.contains("Max") ? "histogram" : "counter";
            Object value = server.getAttribute(bean, kind.equals("gauge") ? "Value" : "Count");
            lines.add(line(type, name, kind, value, labels));
        }
    }

    private static String line(String type, String name, String kind, Object value, TreeMap<String, String> labels) {
        StringBuilder line = new StringBuilder(String.join("\t", type, name, kind, String.valueOf(value)));
        labels.forEach((label, text) -> line.append("\t").append(label).append("=").append(text));
        return line.toString();
    }
}

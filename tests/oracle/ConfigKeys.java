// Prints Kafka's configuration keys, a line each: kind, name, type, default, update mode, separated by tabs.

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

public class ConfigKeys {
    public static void main(String[] arguments) {
        print("broker", kafka.server.KafkaConfig.configDef());
        print("topic", LogConfig.configDefCopy());
        print("client metrics", ClientMetricsConfigs.configDef());
        print("group", GroupConfig.CONFIG_DEF);
        GroupConfig.ALL_GROUP_CONFIG_SYNONYMS.forEach((name, broker) -> line("group synonym", name, broker.orElse("<none>")));
        DynamicBrokerConfig.dynamicConfigUpdateModes().forEach((name, mode) -> line("mode", name, mode));
        ServerTopicConfigSynonyms.TOPIC_CONFIG_SYNONYMS.forEach((name, broker) -> line("synonym", name, broker));
    }

    private static void print(String kind, ConfigDef keys) {
        for (ConfigDef.ConfigKey key : new TreeMap<>(keys.configKeys()).values()) {
            if (key.internalConfig && !kind.equals("group")) continue;
            boolean hasDefault = key.defaultValue != ConfigDef.NO_DEFAULT_VALUE && key.defaultValue != null;
            String value = hasDefault ? ConfigDef.convertToString(key.defaultValue, key.type) : "<none>";
            line(kind, key.name, key.type.name(), value, key.validator == null ? "" : key.validator.toString());
        }
    }

    private static void line(String... columns) {
        System.out.println(String.join("\t", columns));
    }
}

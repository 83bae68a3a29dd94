import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.connect.mirror.DefaultReplicationPolicy;
import org.apache.kafka.connect.mirror.MirrorMaker;

/** Mirror ADDRESS SOURCE TARGET GROUP DIRECTORY: MirrorMaker 2, with both of its clusters at one address. */
public final class Mirror {
    private static final String RENAMED = "renamed";

    /** Names the copy of each topic by a setting, as it cannot have the name of its original on one broker. */
    public static final class Renaming extends DefaultReplicationPolicy {
        private String target;

        @Override
        public void configure(Map<String, ?> settings) {
            super.configure(settings);
            target = (String) settings.get("replication.policy." + RENAMED);
        }

        @Override
        public String formatRemoteTopic(String cluster, String topic) {
            return target;
        }
    }

    public static void main(String[] arguments) {
        Map<String, String> settings = new TreeMap<>();
        settings.put("clusters", "a, b");
        settings.put("a.bootstrap.servers", arguments[0]);
        settings.put("b.bootstrap.servers", arguments[0]);
        settings.put("a->b.enabled", "true");
        settings.put("a->b.topics", arguments[1]);
        settings.put("replication.policy.class", Renaming.class.getName());
        settings.put("replication.policy." + RENAMED, arguments[2]);
        settings.put("b.exactly.once.source.support", "enabled");
        settings.put("a.consumer.isolation.level", "read_committed");
        settings.put("dedicated.mode.enable.internal.rest", "true");
        settings.put("listeners", "http://127.0.0.1:0");
        for (String feature : new String[] {"emit.heartbeats", "emit.checkpoints", "sync.topic.configs", "sync.topic.acls"})
            settings.put(feature + ".enabled", "false");
        for (String topic : new String[] {"config.storage", "offset.storage", "status.storage", "offset-syncs.topic"})
            settings.put(topic + ".replication.factor", "1");
        MirrorMaker mirror = new MirrorMaker(settings);
        Exit.addShutdownHook("stop", mirror::stop);
        mirror.start();
        mirror.awaitStop();
    }
}

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.AddRaftVoterOptions;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeFeaturesOptions;
import org.apache.kafka.clients.admin.DescribeMetadataQuorumOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.admin.RemoveRaftVoterOptions;
import org.apache.kafka.clients.admin.UnregisterBrokerOptions;
import org.apache.kafka.clients.admin.UnregisterControllerOptions;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.utils.Time;

/** The cluster, its features, its quorum, and what the client tells of itself. */
final class Cluster {
    static void sweep(Sweep sweep) {
        sweep.ask("short", Admin::describeCluster);
        sweep.ask("with operations", admin -> admin.describeCluster(
            new DescribeClusterOptions().includeAuthorizedOperations(true).includeFencedBrokers(true)));
        features(sweep);
        quorum(sweep);
        client(sweep);
    }

    private static void features(Sweep sweep) {
        sweep.ask("short", Admin::describeFeatures);
        sweep.ask("of one node", admin -> admin.describeFeatures(new DescribeFeaturesOptions().nodeId(1)));
        UpdateFeaturesOptions trial = new UpdateFeaturesOptions().validateOnly(true);
        Map<String, FeatureUpdate> updates = Map.of(
            "to what it is", new FeatureUpdate((short) 2, UpgradeType.UPGRADE),
            "down, but as an upgrade", new FeatureUpdate((short) 1, UpgradeType.UPGRADE),
            "down, safely", new FeatureUpdate((short) 1, UpgradeType.SAFE_DOWNGRADE),
            "down, unsafely", new FeatureUpdate((short) 1, UpgradeType.UNSAFE_DOWNGRADE),
            "too far", new FeatureUpdate((short) 99, UpgradeType.UPGRADE));
        updates.forEach((as, update) ->
            sweep.ask("only to validate: " + as, admin -> admin.updateFeatures(Map.of("transaction.version", update), trial)));
        FeatureUpdate up = new FeatureUpdate((short) 1, UpgradeType.UPGRADE);
        FeatureUpdate out = new FeatureUpdate((short) 0, UpgradeType.SAFE_DOWNGRADE);
        sweep.ask("unknown", admin -> admin.updateFeatures(Map.of("no.such.feature", up)));
        sweep.ask("metadata away", admin -> admin.updateFeatures(Map.of("metadata.version", out)));
        sweep.ask("several, one bad", admin -> admin.updateFeatures(
            Map.of("no.such.feature", up, "transaction.version", updates.get("down, safely"))));
    }

    private static void quorum(Sweep sweep) {
        sweep.ask("short", Admin::describeMetadataQuorum);
        sweep.ask("with options", admin -> admin.describeMetadataQuorum(new DescribeMetadataQuorumOptions()));
        sweep.ask("that is not there", admin -> admin.unregisterBroker(7));
        sweep.ask("below 0", admin -> admin.unregisterBroker(-1, new UnregisterBrokerOptions()));
        sweep.ask("that is not there", admin -> admin.unregisterController(7));
        sweep.ask("below 0", admin -> admin.unregisterController(-1, new UnregisterControllerOptions()));
        Set<RaftVoterEndpoint> ends = Set.of(new RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 9));
        Uuid directory = new Uuid(1, 1);
        sweep.ask("the one there is", admin -> admin.addRaftVoter(1, directory, ends));
        sweep.ask("of another cluster",
            admin -> admin.addRaftVoter(2, directory, ends, new AddRaftVoterOptions().setClusterId(Optional.of("x"))));
        sweep.ask("that is not there", admin -> admin.removeRaftVoter(7, directory));
        sweep.ask("in another directory", admin -> admin.removeRaftVoter(1, directory, new RemoveRaftVoterOptions()));
    }

    private static void client(Sweep sweep) {
        sweep.ask("in time", admin -> admin.clientInstanceId(Duration.ofSeconds(2)));
        sweep.ask("some", admin -> !admin.metrics().isEmpty());
        MetricName name = new MetricName("rooks", "castle", "", Map.of());
        KafkaMetric metric = new KafkaMetric(new Object(), name, (config, now) -> 1, new MetricConfig(), Time.SYSTEM);
        sweep.ask("one", admin -> { admin.registerMetricForSubscription(metric); return "done"; });
        sweep.ask("one", admin -> { admin.unregisterMetricFromSubscription(metric); return "done"; });
    }
}

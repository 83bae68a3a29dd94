import java.io.IOException;
import java.io.StringReader;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.connect.runtime.Connect;
import org.apache.kafka.connect.runtime.distributed.DistributedHerder;

/** DebeziumWorker ADDRESS PORT TARGET GROUP DIRECTORY: copies the table `numbers` of the PostgreSQL at a port. */
public final class DebeziumWorker {
    private static final String WORKER = """
            bootstrap.servers=%1$s
            group.id=%2$s
            config.storage.topic=%2$s-config
            offset.storage.topic=%2$s-offset
            status.storage.topic=%2$s-status
            config.storage.replication.factor=1
            offset.storage.replication.factor=1
            status.storage.replication.factor=1
            exactly.once.source.support=enabled
            key.converter=org.apache.kafka.connect.json.JsonConverter
            value.converter=org.apache.kafka.connect.storage.StringConverter
            plugin.discovery=service_load
            listeners=http://127.0.0.1:0
            """;
    private static final String CONNECTOR = """
            name=numbers
            connector.class=io.debezium.connector.postgresql.PostgresConnector
            exactly.once.support=required
            database.hostname=127.0.0.1
            database.port=%s
            database.user=postgres
            database.dbname=postgres
            topic.prefix=changes
            table.include.list=public.numbers
            plugin.name=pgoutput
            snapshot.mode=no_data
            max.batch.size=20
            transforms=row, number, topic
            transforms.row.type=io.debezium.transforms.ExtractNewRecordState
            transforms.number.type=org.apache.kafka.connect.transforms.ExtractField$Value
            transforms.number.field=number
            transforms.topic.type=org.apache.kafka.connect.transforms.RegexRouter
            transforms.topic.regex=changes.public.numbers
            transforms.topic.replacement=%s
            """;

    public static void main(String[] arguments) throws IOException {
        Map<String, String> connector = settings(CONNECTOR.formatted(arguments[1], arguments[2]));
        Connect<DistributedHerder> connect =
                new ConnectDistributed().startConnect(settings(WORKER.formatted(arguments[0], arguments[3])));
        connect.herder().putConnectorConfig(connector.get("name"), connector, true, (error, created) -> {
            if (error != null)
                throw new IllegalStateException(error);
        });
        connect.awaitStop();
    }

    private static Map<String, String> settings(String text) throws IOException {
        Properties properties = new Properties();
        properties.load(new StringReader(text));
        return Utils.propsToStringMap(properties);
    }
}

"""From what a person wrote to a configuration: precedence, warnings, and what refuses to start."""

import pytest

from barnabas.broker.config import BrokerConfig, ConfigError, Listener, load_config
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.config.definitions.ignored_keys import ACCEPTED
from barnabas.broker.config.definitions.keys import KEYS
from barnabas.broker.config.environment import EnvironmentSettings
from barnabas.broker.config.racks import RACK_AWARE_SELECTOR
from barnabas.broker.config.racks import racks as racks_of
from barnabas.broker.config.reference.descriptions import why_without_effect


def test_flags_come_before_settings_before_the_environment_before_the_file() -> None:
    layers = {
        "properties": b"num.partitions=1\nlog.segment.bytes=2000000\nfetch.max.bytes=3000\nmax.connections=4\n",
        "environment": EnvironmentSettings(
            {"num.partitions": "11", "log.segment.bytes": "12000000", "fetch.max.bytes": "13000"}, {}
        ),
        "settings": ["num.partitions=21", "log.segment.bytes = 22000000"],
        "flags": {"num.partitions": "31"},
    }
    config, warnings = load_config(**layers)  # type: ignore[arg-type]  # one value for each parameter, by name
    names = ("num.partitions", "log.segment.bytes", "fetch.max.bytes", "max.connections")
    assert [config.integer(name) for name in names] == [31, 22000000, 13000, 4]
    assert warnings == []


def test_without_anything_every_key_has_its_default() -> None:
    config, warnings = load_config()
    assert warnings == []
    assert config.listeners == [Listener("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT")]
    assert config.node_id == 1
    assert config.data_dirs == ["data"]
    for name in (*KEYS, *ACCEPTED):
        config.value(name)


AS_IN_KAFKA = (
    "ssl.keystore.location=/k.jks",
    "listener.name.internal.ssl.keystore.location=/k",
    "listeners=SSL://:9093",
    "sasl.enabled.mechanisms=GSSAPI",
    "authorizer.class.name=",
    "max.connections.per.ip=2147483647",
    "security.inter.broker.protocol=PLAINTEXT",
    "ssl.client.auth=none",
    "max.connection.creation.rate=5",
    "listener.name.plaintext.max.connections=5",
)  # or with an effect
COORDINATORS = "offsets.topic.replication.factor=3 transaction.state.log.replication.factor=3"
BALANCING = "auto.leader.rebalance.enable=false leader.imbalance.check.interval.seconds=10"
SELECTOR = "replica.selector.class"


@pytest.mark.parametrize(
    ("settings", "brokers", "told"),
    [
        (
            "zookeeper.connect=localhost:2181 ranger.url=http://localhost",
            1,
            ["unknown configuration key ranger.url: ignored", "unknown configuration key zookeeper.connect: ignored"],
        ),
        (
            "flush.messages=1 cleanup.polcy=delete",
            1,
            [
                "unknown configuration key cleanup.polcy: ignored: did you mean log.cleanup.policy?",
                "unknown configuration key flush.messages: ignored; "
                "topics have it, for brokers it is log.flush.interval.messages",
            ],
        ),
        (
            "num.io.threads=8 num.network.threads=9",
            1,
            ["no effect here: num.network.threads. " + why_without_effect("num.network.threads")],
        ),
        (BALANCING, 2, []),
        ("auto.leader.rebalance.enable=true", 1, []),
        (
            BALANCING,
            1,
            [
                "no effect here: auto.leader.rebalance.enable, leader.imbalance.check.interval.seconds. "
                "One node leads every partition."
            ],
        ),
        (f"{SELECTOR}={RACK_AWARE_SELECTOR}", 2, []),
        (f"{SELECTOR}={RACK_AWARE_SELECTOR}", 1, [f"no effect here: {SELECTOR}. There is one replica."]),
        (f"{SELECTOR}=com.example.S", 2, [f"no effect here: {SELECTOR}. Only {RACK_AWARE_SELECTOR} is supported."]),
        (
            "min.insync.replicas=3 transaction.state.log.min.isr=2",
            1,
            [
                "min.insync.replicas 3 counts as 1: topics have 1 replica here",
                "transaction.state.log.min.isr 2 counts as 1: topics have 1 replica here",
            ],
        ),
        (
            "default.replication.factor=3",
            1,
            ["default.replication.factor 3: there is 1 broker, so a new topic must name its own factor"],
        ),
        ("default.replication.factor=3", 3, []),
        (COORDINATORS, 3, []),
        ("group.share.max.size=10 group.streams.max.size=9", 1, []),
        ("share.coordinator.state.topic.min.isr=2", 3, []),
        *((setting, 1, []) for setting in AS_IN_KAFKA),
    ],
)
def test_only_settings_without_effect_are_warned_of(settings: str, brokers: int, told: list[str]) -> None:
    assert load_config(settings=settings.split(), brokers=brokers).warnings == told


def test_replicas_of_coordinators_topics_have_no_effect_on_one_node() -> None:
    (warning,) = load_config(settings=COORDINATORS.split()).warnings
    assert warning.startswith("no effect here: offsets.topic.replication.factor, transaction.state.log.replication.")


PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBg+kqhkiG9w0BA/QEF\nmnopqr\nQg==\n-----END PRIVATE KEY-----"


def test_lines_that_may_be_a_value_are_counted_and_not_reported() -> None:
    file = f"typo.of.mine=1\nssl.keystore.key={PEM}\nsasl.jaas.config=a.B required\n  password=x\nhunter.two\n"
    _, warnings = load_config(properties=file.encode(), settings=["Odd=1"])
    escape = "ignored: end a line with \\ to continue its value, or with \\n\\ to preserve the line break"
    assert warnings == [
        "unknown configuration key Odd: ignored",
        "unknown configuration key typo.of.mine: ignored",
        f"ssl.keystore.key is followed by 4 lines that are not settings, {escape}",
        f"sasl.jaas.config is followed by 2 lines that are not settings, {escape}",
    ]
    first = f"a file begins with 1 line that is not a setting, {escape}"
    assert load_config(properties=b"hunter2\n").warnings == [first]


def test_the_authorizers_keys_warn_where_there_is_none() -> None:
    settings = ["super.users=User:me", "allow.everyone.if.no.acl.found=true"]
    assert load_config(settings=settings).warnings == [
        "no effect here: allow.everyone.if.no.acl.found, super.users. "
        "There is no authorizer: set authorizer.class.name."
    ]
    assert load_config(settings=[*settings, f"authorizer.class.name={STANDARD_AUTHORIZER}"]).warnings == []


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("super.users=alice", "super.users: alice is not a principal: write it as User:name"),
        ("super.users=User:a;:b", "super.users: :b is not a principal"),
        ("allow.everyone.if.no.acl.found=perhaps", "allow.everyone.if.no.acl.found"),
    ],
)
def test_a_wrong_setting_of_the_authorizer_refuses_to_start(setting: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        load_config(settings=[setting, f"authorizer.class.name={STANDARD_AUTHORIZER}"])


@pytest.mark.parametrize(
    ("setting", "brokers", "racks"),
    [("a,b,c", 1, ["a,b,c"]), ("a,b,c", 3, ["a", "b", "c"]), ("a", 2, ["a", "a"]), (" a,,c", 3, ["a", None, "c"])],
)
def test_nodes_are_in_the_racks_of_a_list(setting: str, brokers: int, racks: list[str | None]) -> None:
    config, warnings = load_config(settings=[f"broker.rack={setting}"], brokers=brokers)
    assert racks_of(config.text("broker.rack"), brokers) == racks
    assert warnings == []


def test_a_list_of_racks_of_another_length_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^broker.rack a,b names 2 racks for 3 nodes: name one for each, or one for all$"
    ):
        load_config(settings=["broker.rack=a,b"], brokers=3)


def test_quotas_that_kafka_has_no_longer_are_ignored_with_what_is_in_their_place() -> None:
    (said,) = load_config(settings=["quota.producer.default=1000"]).warnings
    assert said.startswith("unknown configuration key quota.producer.default: ignored, as in Kafka since 3.0: ")
    assert "--set producer_byte_rate=N" in said


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "only org.apache.kafka.metadata"),
        ("client.quota.callback.class=x.Y", "requires a class that decides about quotas"),
        ("create.topic.policy.class.name=x.Y", "requires a policy class"),
        ("listeners=SASL_SSL://:9093", "listener SASL_SSL requires GSSAPI"),
    ],
)
def test_settings_for_unenforced_protection_refuse_to_start(setting: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        load_config(settings=[setting])


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("num.partitions=0", "Invalid value 0 for configuration num.partitions: Value must be at least 1"),
        ("num.partitions=two", "Invalid value two for configuration num.partitions: Not a number of type INT"),
        ("num.io.threads=none", "Not a number of type INT"),
        ("auto.create.topics.enable=yes", "Expected value to be either true or false"),
        ("compression.type=lzma", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("log.cleanup.policy=compact,keep", "Invalid value keep for configuration log.cleanup.policy"),
        ("compression.gzip.level=0", "Value must be between 1 and 9 or equal to -1"),
        ("log.cleaner.min.cleanable.ratio=1.5", "Value must be no more than 1"),
        ("log.dirs=/a,/b\0", "log.dirs names a directory with a NUL"),
        ("log.dirs=/a\0b", "log.dirs names a directory with a NUL"),
        ("advertised.listeners=OTHER://h:1", "has no protocol for OTHER"),
        ("advertised.listeners=SSL://h:1", "advertised.listeners names SSL, which listeners does not have"),
        ("listeners=9092", "9092 is not of the form NAME://host:port"),
        ("listeners=PLAINTEXT://h:99999", "port outside 0 to 65535"),
        ("listeners=PLAINTEXT://a:1,PLAINTEXT://b:2", "must have a different name"),
        ("listeners=PLAINTEXT://a:1,B://b:1", "has no protocol for B"),
        ("listeners=INTERNAL://a:1", "listener.security.protocol.map has no protocol for INTERNAL"),
        ("listeners=", "listeners has no listener for clients"),
        ("listener.security.protocol.map=A:B", "A:B is not of the form NAME:PROTOCOL"),
        ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "//0.0.0.0:9092 is not an address that clients can"),
        ("advertised.listeners=PLAINTEXT://[::]:9092", "PLAINTEXT://.::.:9092 is not an address that clients can"),
        ("inter.broker.listener.name=INTERNAL", "inter.broker.listener.name is INTERNAL, but listeners are PLAINTEXT"),
        ("max.connections.per.ip.overrides=somewhere:9", "per.ip.overrides: somewhere:9 is not ADDRESS:COUNT"),
        ("process.roles=controller", "process.roles does not contain broker"),
        ("offsets.topic.compression.codec=5", "offsets.topic.compression.codec 5 is not a codec: use 0 to 4"),
        (
            "share.coordinator.state.topic.compression.codec=-1",
            "share.coordinator.state.topic.compression.codec -1 is not a codec: use 0 to 4",
        ),
        ("offsets.topic.segment.bytes=65536", "offsets.topic.segment.bytes: Value must be at least 1048576"),
        ("transaction.state.log.segment.bytes=1", "state.log.segment.bytes: Value must be at least 1048576"),
        ("offsets.topic.num.partitions=10001", "offsets.topic.num.partitions: Value must be no more than 10000"),
        ("transaction.state.log.num.partitions=99999", "transaction.state.log.num.partitions: Value must be no more"),
        ("group.coordinator.rebalance.protocols=consumer", "Disabling the 'classic' protocol is not supported"),
        ("nothing", "write a setting as key=value"),
        ("=5", "write a setting as key=value"),
    ],
)
def test_an_unusable_value_is_refused_with_its_key_and_the_reason(setting: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        load_config(settings=[setting])


@pytest.mark.parametrize(
    ("line", "sentence"), [(rb"log.dirs=C:\users", r"a \\u is not"), (rb"a=\ud83d", "half of a surr")]
)
def test_a_file_that_java_refuses_or_no_text_is_does_not_start(line: bytes, sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^line 2: {sentence}") as refused:
        load_config(properties=b"# \xe9\n" + line)
    assert "users" not in str(refused.value)


def test_a_file_is_latin_1_and_a_value_in_utf_8_warns() -> None:
    config, warnings = load_config(
        properties="log.dirs=/b\xfccher\nbroker.rack=r\u00e9\nb\xe9=\xe9\n".encode("latin-1")
    )
    assert (config.data_dirs, config.string("broker.rack"), len(warnings)) == (["/b\xfccher"], "r\u00e9", 1)
    config, warnings = load_config(properties="log.dirs=/b\xfccher".encode())
    assert config.data_dirs == ["/b\xc3\xbccher"]
    assert warnings == [
        "log.dirs: its value is UTF-8 in the file, which is read as ISO-8859-1, as by Kafka: write \\uXXXX instead"
    ]


def test_the_server_properties_of_a_kafka_container_starts() -> None:
    properties = b"""
process.roles=broker,controller
node.id=7
controller.quorum.voters=7@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093,EXTERNAL://0.0.0.0:9094
advertised.listeners=PLAINTEXT://broker:9092,EXTERNAL://localhost:9094
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=/var/lib/kafka/data
offsets.topic.replication.factor=1
log.retention.hours=168
"""
    config, warnings = load_config(properties=properties)
    assert config.node_id == 7
    assert [(listener.name, listener.port) for listener in config.listeners] == [
        ("PLAINTEXT", 9092),
        ("EXTERNAL", 9094),
    ]
    assert [told.host for told in config.advertised_listeners] == ["broker", "localhost"]
    assert warnings == ["no effect here: controller.quorum.voters. There is no separate controller quorum."]


@pytest.mark.parametrize("host", ["", "0.0.0.0", "[::]"])
def test_the_catalogue_knows_every_interface_as_localhost(host: str) -> None:
    config = load_config(settings=[f"listeners=PLAINTEXT://{host}:9092"]).config
    assert config.listeners[0].is_every_interface
    assert config.advertised(config.listeners[0]) is None
    assert config.advertised_listeners[0][1:3] == ("localhost", 9092)


def test_broker_id_names_the_node_unless_node_id_does() -> None:
    assert load_config(settings=["broker.id=4"]).config.node_id == 4
    assert load_config(settings=["broker.id=4"]).config.integer("node.id") == 4
    assert load_config(settings=["node.id=4"]).config.integer("broker.id") == 4
    assert load_config().config.integer("broker.id") == 1
    assert load_config(settings=["broker.id=4", "node.id=4"]).config.node_id == 4
    with pytest.raises(ConfigError, match="name two different nodes"):
        load_config(settings=["broker.id=4", "node.id=5"])


def test_asking_for_a_key_that_does_not_exist_is_a_bug() -> None:
    with pytest.raises(KeyError):
        BrokerConfig().value("no.such.key")


def test_a_flag_does_not_take_back_the_protection_a_file_requests() -> None:
    """`--port` moves the listener; what the file wanted of it is still wanted."""
    with pytest.raises(ConfigError, match="SASL_PLAINTEXT"):
        load_config(
            properties=b"listeners=SASL_PLAINTEXT://127.0.0.1:9092\n", flags={"listeners": "PLAINTEXT://127.0.0.1:0"}
        )
    with pytest.raises(
        ConfigError, match=r"make one PLAINTEXT listener, but listeners has SSL \(SSL\): change that instead"
    ):
        load_config(properties=b"listeners=SSL://127.0.0.1:9092\n", flags={"listeners": "PLAINTEXT://127.0.0.1:0"})


CG, SG = "group.consumer", "group.streams"
OR_MORE, OR_LESS = "must be greater than or equal to", "must be less than or equal to"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ([f"{CG}.max.session.timeout.ms=40000"], f"{CG}.max.session.timeout.ms {OR_MORE} {CG}.min.session.timeout.ms"),
        ([f"{CG}.session.timeout.ms=70000"], f"{CG}.session.timeout.ms {OR_LESS} {CG}.max.session.timeout.ms"),
        ([f"{CG}.heartbeat.interval.ms=4000"], f"{CG}.heartbeat.interval.ms {OR_MORE} {CG}.min.heartbeat.interval.ms"),
        (
            [f"{CG}.max.heartbeat.interval.ms=50000", f"{CG}.heartbeat.interval.ms=45000"],
            f"{CG}.heartbeat.interval.ms must be less than {CG}.session.timeout.ms",
        ),
        (
            [f"{CG}.max.assignment.interval.ms=10"],
            f"{CG}.assignment.interval.ms {OR_LESS} {CG}.max.assignment.interval.ms",
        ),
        ([f"{SG}.num.standby.replicas=3"], f"{SG}.num.standby.replicas {OR_LESS} {SG}.max.standby.replicas"),
        (["group.share.assignors="], "group.share.assignors must contain exactly one assignor, but found 0"),
    ],
)
def test_bounds_of_groups_that_contradict_each_other_refuse_to_start(settings: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_config(settings=settings)
    assert str(refusal.value) == sentence
    assert refusal.value.key == sentence.split()[0]


def test_a_data_directory_of_the_command_line_has_the_catalogue_of_a_file_with_it() -> None:
    written = b"metadata.log.dir=/elsewhere\nlog.dirs=/data\n"
    assert load_config(properties=written).config.metadata_dir == "/elsewhere"
    moved = load_config(properties=written, flags={"log.dirs": "/mine"})
    assert moved.config.metadata_dir == "/mine"
    assert "metadata.log.dir not used: --data-dir sets the data directory" in moved.warnings
    asked = load_config(properties=written, flags={"log.dirs": "/mine"}, settings=["metadata.log.dir=/asked"])
    assert asked.config.metadata_dir == "/asked"

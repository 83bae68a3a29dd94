"""Apache Kafka's jars, for the tests that use Kafka itself as the oracle.

`kafka_libs()` gives a directory with every jar one needs to run a broker and its clients, fetched once by Maven
(through whatever repository Maven is configured for) into `.cache/kafka/<version>/libs` of the checkout. It is safe to
call from several processes at once: one downloads, the others wait for it.

Connect and Kafka's own tests are of 4.3.1, each with the jars of 4.3.1 around it: of 4.4.0, neither the connectors for
files nor the tests are published, and those of 4.3.1 name classes that 4.4.0 has in other packages.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

KAFKA_VERSION = "4.4.0"
CONNECT_VERSION = OWN_TESTS_VERSION = "4.3.1"
OLDER_VERSIONS = ("3.9.2", "4.0.0", "4.2.0", "4.3.1")  # what our client and sink are tried against in long runs
REGISTRY_VERSION, REGISTRY_SERDES_VERSION = "3.3.3", "3.1.7"  # of Apicurio Registry: each the newest that is published
SPRING_VERSION = "4.1.2"
FLINK_VERSION = "2.2.0"
CONFLUENT_VERSION, CONFLUENT_CARRIER_VERSION = "7.0.1", "3.3.0.Final"  # of their serializers; of the jar that has them
CONFLUENT_CONVERTERS = ("io.confluent.connect.avro.AvroConverter", "io.confluent.connect.protobuf.ProtobufConverter")
CLIENT_VERSIONS = (KAFKA_VERSION, "3.9.1", "2.8.2")
CACHE = Path(__file__).resolve().parents[3] / ".cache" / "kafka"

_KAFKA = "org.apache.kafka"
_LOGGER = [("org.apache.logging.log4j", name, "2.26.1") for name in ("log4j-slf4j-impl", "log4j-core")]
_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>barnabas.tests</groupId><artifactId>kafka-libs</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = """\
    <dependency>
      <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}
    </dependency>"""
_ARCHIVE = "<type>tar.gz</type><classifier>all</classifier>"
_TESTS = "<classifier>test</classifier>"
_EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"
_CONFLUENTS = (
    *("META-INF/services/io.confluent.", "confluent/", "io/confluent/", "io/swagger/", "org/apache/avro/"),
    *("com/fasterxml/", "com/google/common/", "com/google/gson/", "com/google/protobuf/", "com/squareup/", "kotlin/"),
    *("google/protobuf/", "okio/", "org/apache/commons/compress/"),
)
_ALONE = f"<exclusions>{_EXCLUSION.format('*', '*')}</exclusions>"


def kafka_libs(version: str = KAFKA_VERSION) -> Path:
    """The directory of jars of an Apache Kafka `version`: broker, storage tool, client and a logger."""
    return _libs(version, [(_KAFKA, "kafka_2.13", version), *_LOGGER])


def tools_libs() -> Path:
    """The directory of jars of Kafka's command-line tools and a logger."""
    parts = [(_KAFKA, "kafka_2.13", KAFKA_VERSION), (_KAFKA, "kafka-tools", KAFKA_VERSION)]
    return _libs(f"tools-{KAFKA_VERSION}", [*parts, *_LOGGER])


def streams_libs(version: str = KAFKA_VERSION) -> Path:
    """The directory of jars of Kafka Streams, its state stores and a logger."""
    return _libs(f"streams-{version}", [(_KAFKA, "kafka-streams", version), *_LOGGER])


def connect_libs() -> Path:
    """The directory of jars of Kafka Connect's worker, the connectors for files and a logger."""
    parts = [(_KAFKA, "connect-runtime", CONNECT_VERSION), (_KAFKA, "connect-file", CONNECT_VERSION)]
    return _libs(f"connect-{CONNECT_VERSION}", [*parts, *_LOGGER])


def registry_libs() -> Path:
    """The directory that Apicurio Registry's archive has: quarkus-run.jar, for Java 21 or later, and what it needs.

    The archive is 159 MB, so it is not among those that every group fetches.
    """
    app = _DEPENDENCY.format("io.apicurio", "apicurio-registry-app", REGISTRY_VERSION, _ARCHIVE + _ALONE)
    return _once(f"registry-{REGISTRY_VERSION}", [app], "unpack-dependencies")


def registry_serdes_libs() -> Path:
    """The directory of jars of Apicurio's Avro serializers, the Java client and a logger."""
    serdes = ("io.apicurio", "apicurio-registry-avro-serde-kafka", REGISTRY_SERDES_VERSION)
    parts = [serdes, (_KAFKA, "kafka-clients", KAFKA_VERSION), *_LOGGER]
    return _libs(f"registry-serdes-{REGISTRY_SERDES_VERSION}", parts)


def flink_serializers_libs() -> Path:
    """The directory of jars of Flink's Avro format, with Confluent's registry client in it, and the Java client."""
    parts = [("org.apache.flink", name, FLINK_VERSION) for name in ("flink-sql-avro-confluent-registry", "flink-core")]
    return _libs(f"flink-serializers-{FLINK_VERSION}", [*parts, (_KAFKA, "kafka-clients", KAFKA_VERSION), *_LOGGER])


def confluent_libs() -> Path:
    """The directory of a jar with Confluent's serializers and converters, and of the Java client: a plug-in of Connect.

    They are not on Maven Central by themselves. Debezium's connector for Cassandra has those of Avro and Protobuf in
    its jar, with the libraries that they need, but Google's common types are too old for them there. The client is of
    4.3.1, as the serializer of Protobuf names a class that 4.4.0 has in another package.
    """
    artifact = ("io.debezium", "debezium-connector-cassandra-4", CONFLUENT_CARRIER_VERSION)
    carrier = _DEPENDENCY.format(*artifact, "<classifier>jar-with-dependencies</classifier>" + _ALONE)
    client = _DEPENDENCY.format(_KAFKA, "kafka-clients", CONNECT_VERSION, "")
    types = _DEPENDENCY.format("com.google.api.grpc", "proto-google-common-protos", "2.5.1", _ALONE)
    return _once(f"confluent-{CONFLUENT_VERSION}", [carrier, client, types], "copy-dependencies", _leave_confluents)


def schema_libs() -> Path:
    """The directory of jars of Apicurio Registry with its rules for schemas and Avro's library: not published alone."""
    return registry_libs() / "lib" / "main"


def client_libs(version: str) -> Path:
    """The directory of jars of the Java client `version` alone, for speaking as an older client does."""
    return _libs(f"client-{version}", [(_KAFKA, "kafka-clients", version)])


def junit_libs() -> Path:
    """The directory of jars of JUnit with its console launcher, and the Java client."""
    parts = [("org.junit.platform", "junit-platform-console-standalone", "6.1.3")]
    return _libs(f"junit-{KAFKA_VERSION}", [*parts, (_KAFKA, "kafka-clients", KAFKA_VERSION)])


def spring_libs() -> Path:
    """The directory of jars of Spring for Apache Kafka, the Java client that it chooses, and a logger."""
    return _libs(f"spring-{SPRING_VERSION}", [("org.springframework.kafka", "spring-kafka", SPRING_VERSION), *_LOGGER])


def own_tests_libs() -> Path:
    """The directory of jars of Kafka's own tests of its clients, compiled, and of JUnit; the newest published ones.

    They need the broker's classes, too, which they name.
    """
    classes = ("kafka-clients", "kafka_2.13", "kafka-test-common-internal-api", "kafka-test-common-runtime")
    tests = ("kafka-clients-integration-tests", "kafka-clients", "kafka_2.13")
    junit = ("org.junit.platform", "junit-platform-console", "1.13.1")  # the tests were compiled with JUnit 5.13
    dependencies = [
        *(_DEPENDENCY.format(_KAFKA, name, OWN_TESTS_VERSION, "") for name in classes),
        *(_DEPENDENCY.format(_KAFKA, name, OWN_TESTS_VERSION, _TESTS) for name in tests),
        *(_DEPENDENCY.format(*artifact, "") for artifact in (junit, *_LOGGER)),
    ]
    return _once(f"own-tests-{OWN_TESTS_VERSION}", dependencies, "copy-dependencies")


def other_own_tests_libs() -> Path:
    """The directory of what Kafka's own tests of Streams, tools and requests need beside those libs."""
    names = ("kafka-streams-integration-tests", "kafka-streams", "kafka-tools", "kafka-server-common", "kafka-metadata")
    dependencies = [
        *(_DEPENDENCY.format(_KAFKA, name, OWN_TESTS_VERSION, _TESTS + _ALONE) for name in names),
        _DEPENDENCY.format(_KAFKA, "kafka-tools", OWN_TESTS_VERSION, _ALONE),
        _DEPENDENCY.format("org.hamcrest", "hamcrest", "3.0", _ALONE),
        _DEPENDENCY.format("junit", "junit", "4.13.2", _ALONE),  # for its assertions
    ]
    return _once(f"other-own-tests-{OWN_TESTS_VERSION}", dependencies, "copy-dependencies")


def spark_connector_libs() -> Path:
    """The four jars that Spark's stock Kafka connector adds to those of pyspark 4.2.0.

    Everything else they name as dependencies is among Spark's own jars already, some of it in other versions, so each
    jar comes alone.
    """
    return _libs(
        "stock-connector-4.2.0",
        [
            ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
            ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.2.0"),
            ("org.apache.kafka", "kafka-clients", "3.9.2"),
            ("org.apache.commons", "commons-pool2", "2.13.1"),
        ],
        alone=True,
    )


def framework_libs(artifacts: Sequence[str], left_out: Sequence[str] = ()) -> Path:
    """The directory of the jars `group:artifact:version` of a framework, the first of which names it, and a logger.

    left_out: `group:artifact` of what these depend on and is not fetched, either part of it `*`.
    """
    parts = [each.split(":") for each in artifacts]
    exclusions = "".join(_EXCLUSION.format(*each.split(":")) for each in left_out)
    more = f"<exclusions>{exclusions}</exclusions>" if exclusions else ""
    dependencies = [_DEPENDENCY.format(*artifact, more) for artifact in (*parts, *_LOGGER)]
    digest = hashlib.sha256("".join(dependencies).encode()).hexdigest()[:8]
    return _once(f"{parts[0][1]}-{parts[0][2]}-{digest}", dependencies, "copy-dependencies")


def fetch_all() -> None:
    """Have all of these now, as far as tests against our broker use them, so that none of them waits for a download."""
    kafka_libs()
    tools_libs()
    streams_libs()
    streams_libs(OWN_TESTS_VERSION)
    connect_libs()
    junit_libs()
    spring_libs()
    own_tests_libs()
    other_own_tests_libs()
    spark_connector_libs()
    flink_serializers_libs()
    confluent_libs()
    for version in CLIENT_VERSIONS:
        client_libs(version)


def fetch_registry() -> None:
    """Have Apicurio Registry and its serializers now."""
    registry_libs()
    registry_serdes_libs()


def _libs(name: str, artifacts: list[tuple[str, str, str]], *, alone: bool = False) -> Path:
    dependencies = [_DEPENDENCY.format(*artifact, _ALONE if alone else "") for artifact in artifacts]
    return _once(name, dependencies, "copy-dependencies")


def _leave_confluents(libs: Path) -> None:
    """Leave of the jar with all dependencies Confluent's and theirs: it has another Java client and loggers, too.

    The converters get the manifest that Kafka's `connect-plugin-path` adds: without it Connect searches for them, 10 s.
    """
    [whole] = libs.glob("*-jar-with-dependencies.jar")
    with zipfile.ZipFile(whole) as classes, zipfile.ZipFile(libs / "confluent.jar", "w") as jar:
        for entry in classes.infolist():
            if entry.filename.startswith(_CONFLUENTS):
                jar.writestr(entry, classes.read(entry))
        jar.writestr("META-INF/services/org.apache.kafka.connect.storage.Converter", "\n".join(CONFLUENT_CONVERTERS))
    whole.unlink()


def _once(name: str, dependencies: list[str], goal: str, finish: Callable[[Path], None] | None = None) -> Path:
    """Return a directory that Maven fills and `finish` changes, unless it is there."""
    home = CACHE / name
    libs = home / "libs"
    if libs.is_dir():  # it appears by a rename, so it is whole once it is there
        return libs
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        if not libs.is_dir():
            partial = _downloaded(home, dependencies, goal)
            if finish is not None:
                finish(partial)
            partial.rename(libs)
    return libs


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _downloaded(home: Path, dependencies: list[str], goal: str) -> Path:
    if shutil.which("mvn") is None:
        raise RuntimeError("Apache Kafka's jars are fetched with Maven: install it (Debian: apt install maven)")
    pom = home / "pom.xml"
    pom.write_text(_POM.format(dependencies="\n".join(dependencies)))
    partial = home / f"partial-{os.getpid()}"
    command = ["mvn", "-q", "-B", "-f", str(pom), f"dependency:{goal}", f"-DoutputDirectory={partial}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(partial, ignore_errors=True)
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return partial

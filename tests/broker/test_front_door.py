"""`barnabas serve` as a stand-in for Apache Kafka: its files and variables start it, several listeners each tell their
own address, and what cannot be used is refused before anything is made.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from barnabas.broker.config import load_config
from barnabas.broker.config.environment import EnvironmentSettings, read_environment
from barnabas.broker.network.bound_sockets import bind_listeners, close_sockets
from barnabas.broker.server.start import start_broker
from barnabas.client.addresses import Address
from barnabas.client.client import Client
from barnabas.client.clock import Deadline, SystemClientClock
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.consume.consumer import Consumer
from barnabas.client.produce.producer import Producer
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.support.command_line import Barnabas
from tests.support.ipv6 import speaks_ipv6
from tests.support.ports import unused_port
from tests.support.processes.forwarder import Forwarder

# What config/kraft/server.properties of Apache Kafka 3.9 and config/server.properties of 4.3 set.
_SHIPPED = b"""
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""
SHIPPED = {
    "3.9": _SHIPPED
    + b"""
controller.quorum.voters=1@localhost:9093
advertised.listeners=PLAINTEXT://localhost:9092
num.recovery.threads.per.data.dir=1
""",
    "4.3": _SHIPPED
    + b"""
controller.quorum.bootstrap.servers=localhost:9093
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
num.recovery.threads.per.data.dir=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
""",
}

# What the modules of testcontainers give a container, for Java, Go and Python or Node without a quorum.
MODULES = {
    "java": {
        "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
        "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093, CONTROLLER://0.0.0.0:9094",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:32768,BROKER://0f5c2b:9093",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
        "KAFKA_NODE_ID": "1",
        "KAFKA_BROKER_ID": "1",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    },
    "names": {
        "KAFKA_LISTENERS": "PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094,TC-0://kafka:19092",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        "CONTROLLER:PLAINTEXT,TC-0:PLAINTEXT",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:32768,BROKER://kafka:9093,TC-0://kafka:19092",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_REST_BOOTSTRAP_SERVERS": "PLAINTEXT://kafka:9093",
    },
    "zookeeper": {
        "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:32768,BROKER://172.17.0.2:9092",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
        "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181",
        "KAFKA_BROKER_ID": "1",
        "KAFKA_LOG4J_LOGGERS": "kafka.controller=INFO",
        "KAFKA_HEAP_OPTS": "-Xmx1G",
    },
}


@pytest.mark.parametrize(("version", "bootstrap"), [("3.9", "voters"), ("4.3", "bootstrap.servers")])
def test_the_file_kafka_ships_starts_as_it_is(version: str, bootstrap: str) -> None:
    config, warnings = load_config(properties=SHIPPED[version])
    assert [(each.name, each.host, each.port) for each in config.listeners] == [("PLAINTEXT", "", 9092)]
    (advertised,) = map(config.advertised, config.listeners)
    assert advertised is not None
    assert (advertised.host, advertised.port) == ("localhost", 9092)
    assert f"no effect here: controller.quorum.{bootstrap}. There is no separate controller quorum." in warnings
    assert len(warnings) <= 2


@pytest.mark.parametrize("version", SHIPPED)
def test_a_flag_moves_the_listener_of_the_file_and_what_the_file_tells_of_it(version: str) -> None:
    config, warnings = load_config(properties=SHIPPED[version], flags={"listeners": "PLAINTEXT://127.0.0.1:0"})
    assert [config.advertised(each) for each in config.listeners] == [None]
    assert [warning.partition(" not used")[0] for warning in warnings if "not used" in warning] == [
        "advertised.listeners and inter.broker.listener.name"
    ]
    kept, _ = load_config(
        properties=SHIPPED[version],
        flags={"listeners": "PLAINTEXT://127.0.0.1:0"},
        settings=["advertised.listeners=PLAINTEXT://here:1"],
    )
    assert [each and each.host for each in map(kept.advertised, kept.listeners)] == ["here"]


@pytest.mark.parametrize(
    ("module", "told", "unknown"),
    [
        ("java", ["localhost:32768", "0f5c2b:9093"], []),
        ("names", ["localhost:32768", "kafka:9093", "kafka:19092"], ["rest.bootstrap.servers"]),
        ("zookeeper", ["localhost:32768", "172.17.0.2:9092"], ["zookeeper.connect"]),
    ],
)
def test_the_environment_of_testcontainers_starts_with_a_note_on_ignored_variables(
    module: str, told: list[str], unknown: list[str]
) -> None:
    config, warnings = load_config(environment=read_environment(MODULES[module]))
    assert [each.address for each in map(config.advertised, config.listeners) if each] == told
    assert [each.split()[3].rstrip(":") for each in warnings if each.startswith("unknown")] == unknown


@pytest.mark.parametrize(
    ("arguments", "variables", "status", "words"),
    [
        (["--port", "0"], {"KAFKA_NUM_PARTITIONS": "many"}, 1, "KAFKA_NUM_PARTITIONS: Invalid value many"),
        ([], {"KAFKA_LISTENERS": "A://:0,B://:0"}, 1, "has no protocol for A"),
        (
            ["--set", "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"],
            {"KAFKA_LISTENERS": "A://:9092,B://:9092"},
            1,
            "A and B have the same port, 9092",
        ),
        (
            [],
            {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://0.0.0.0:9092"},
            1,
            "not an address that clients can connect to",
        ),
        (["--port", "0", "--set", "log.segment.bytes=1.5"], {}, 1, "Not a number of type INT"),
        (["--port", "0", "--feature", "transaction.version=9"], {}, 2, "the levels of transaction.version are 0 to 2"),
        (["--port", "0", "--feature", "no.such=1"], {}, 2, "the features are"),
        (["--port", "0", "--feature", "metadata.version=7"], {}, 1, "INVALID_UPDATE_VERSION"),
        (["--port", "0", "--feature", "kraft.version=0"], {}, 1, "INVALID_UPDATE_VERSION"),
        (["--port", "0", "--topic", "no/name"], {}, 1, "INVALID_TOPIC_EXCEPTION"),
        ([], {"KAFKA_LISTENERS": "SASL_PLAINTEXT://:0"}, 1, "requires GSSAPI"),
        ([], {"KAFKA_LISTENERS": "SSL://:0"}, 1, "listener SSL: there is no key store"),
        (
            [],
            {"KAFKA_LISTENERS": "SASL_PLAINTEXT://:0", "KAFKA_SASL_ENABLED_MECHANISMS": "SECRET"},
            1,
            "KAFKA_SASL_ENABLED_MECHANISMS: sasl.enabled.mechanisms names SECRET",
        ),
        (["--port", "0"], {"KAFKA_OPTS": "-Djavax.net.ssl.trustStore=/x"}, 1, "KAFKA_OPTS: -Djavax.net.ssl.trustStore"),
        (["--port", "0"], {"KAFKA_AUTHORIZER_CLASS_NAME": "x.Y"}, 1, "authorizer.class.name is x.Y: only"),
        (["--host", "no.such.host.invalid", "--port", "0"], {}, 1, "cannot listen on no.such.host.invalid:0"),
        (["--host", "192.0.2.1", "--port", "0"], {}, 1, "cannot listen on 192.0.2.1:0"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing_behind(
    offline: Barnabas,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    variables: dict[str, str],
    status: int,
    words: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told = offline("serve", "--log-level", "error", "--data-dir", str(tmp_path / "new" / "data"), *arguments)
    assert (told.status, told.stdout, told.stderr.count("\n"), words in told.stderr) == (status, "", 1, True), told
    assert list(tmp_path.rglob("*")) in ([], [tmp_path / "new"])


# --- several listeners ---


def addresses_told(host: str, port: int) -> set[tuple[str, int]]:
    """Every host and port that a client is told which came in by this one."""
    deadline = Deadline(SystemClientClock(), 30_000)
    connection = BrokerConnection(Address(host, port), "front door", deadline)
    try:
        metadata = connection.ask(MetadataRequest(topics=[]), deadline)
        cluster = connection.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), deadline)
        found = connection.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), deadline)
    finally:
        connection.close()
    return {(each.host, each.port) for each in (*metadata.brokers, *cluster.brokers, *found.coordinators)}


@asynccontextmanager
async def running(data_dir: Path, *, is_container: bool = False, **settings: str) -> AsyncIterator[dict[str, int]]:
    """A broker in this process; the ports of its listeners by name."""
    named = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    around = EnvironmentSettings({}, {}, None, is_container)
    config, _ = load_config(settings=[f"log.dirs={data_dir}", *named], environment=around)
    bound = bind_listeners(config)
    broker = await start_broker(config, bound, descriptor_limit=256)
    try:
        yield {each.listener.name: each.port for each in bound}
    finally:
        await broker.stop()


async def test_each_listener_tells_its_own_address_and_one_without_tells_where_a_client_came_in(tmp_path: Path) -> None:
    names = ("PLAIN", "NAMED", "TOLD", "WIDE")
    async with running(
        tmp_path / "data",
        listeners="PLAIN://127.0.0.1:0,NAMED://localhost:0,TOLD://127.0.0.1:0,WIDE://:0,CONTROLLER://:1",
        advertised_listeners="TOLD://kafka.example:29092,CONTROLLER://:1",
        listener_security_protocol_map=",".join(f"{name}:PLAINTEXT" for name in (*names, "CONTROLLER")),
        controller_listener_names="CONTROLLER",
        inter_broker_listener_name="PLAIN",
    ) as ports:
        assert tuple(ports) == names
        assert len(set(ports.values())) == len(names)
        for host, name, told in (
            ("127.0.0.1", "PLAIN", ("127.0.0.1", ports["PLAIN"])),
            ("127.0.0.1", "NAMED", ("localhost", ports["NAMED"])),
            ("127.0.0.1", "TOLD", ("kafka.example", 29092)),
            ("127.0.0.1", "WIDE", ("127.0.0.1", ports["WIDE"])),
            ("127.0.0.2", "WIDE", ("127.0.0.2", ports["WIDE"])),
        ):
            assert await asyncio.to_thread(addresses_told, host, ports[name]) == {told}, name


async def test_in_a_container_who_comes_from_the_gateway_is_told_localhost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, connect = "127.0.0.3", socket.create_connection
    monkeypatch.setattr("barnabas.broker.network.network.default_gateways", lambda: {gateway})
    async with running(tmp_path / "data", is_container=True, listeners="PLAINTEXT://:0") as ports:
        port = ports["PLAINTEXT"]
        assert await asyncio.to_thread(addresses_told, "127.0.0.2", port) == {("127.0.0.2", port)}
        monkeypatch.setattr(socket, "create_connection", lambda to, timeout: connect(to, timeout, (gateway, 0)))
        assert await asyncio.to_thread(addresses_told, "127.0.0.2", port) == {("localhost", port)}


@pytest.mark.skipif(not speaks_ipv6(), reason="this machine's loopback has no IPv6")
async def test_every_interface_is_that_of_ipv6_too(tmp_path: Path) -> None:
    async with running(tmp_path / "data", listeners="PLAINTEXT://:0") as ports:
        port = ports["PLAINTEXT"]
        assert await asyncio.to_thread(addresses_told, "::1", port) == {("::1", port)}


@pytest.mark.skipif(not speaks_ipv6(), reason="this machine's loopback has no IPv6")
@pytest.mark.parametrize("hosts", [("127.0.0.1", "[::1]"), ("0.0.0.0", "[::]")])
def test_two_listeners_share_a_port_on_the_two_versions_of_ip(hosts: tuple[str, str]) -> None:
    port = unused_port()
    protocols = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"
    config, _ = load_config(settings=[f"listeners=A://{hosts[0]}:{port},B://{hosts[1]}:{port}", protocols])
    bound = bind_listeners(config)
    assert [each.port for each in bound] == [port, port]
    for each in bound:
        close_sockets(each)


async def test_a_client_works_through_a_mapped_port_that_is_advertised(tmp_path: Path) -> None:
    with Forwarder("127.0.0.2") as mapped:
        async with running(
            tmp_path / "data",
            listeners="INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
            advertised_listeners=f"OUTSIDE://{mapped.address}",
            listener_security_protocol_map="INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        ) as ports:
            mapped.target = ("127.0.0.1", ports["OUTSIDE"])
            await asyncio.to_thread(write_and_read, mapped.address)
            told = await asyncio.to_thread(addresses_told, mapped.host, mapped.port)
            assert told == {(mapped.host, mapped.port)}
            came = mapped.connections
            assert came >= 2
            await asyncio.to_thread(write_and_read, f"127.0.0.1:{ports['INSIDE']}")
            assert mapped.connections == came


def write_and_read(address: str) -> None:
    """One record, there and back. What stock clients make of it: tests/compat/test_front_door.py."""
    with Client(address) as client:
        with Producer(client) as producer:
            producer.send("mapped", b"there and back")
        consumer = Consumer(client, auto_offset_reset="earliest")
        consumer.assign([("mapped", 0)])
        assert [each.record.value for each in consumer.poll(30_000, max_records=1)] == [b"there and back"]

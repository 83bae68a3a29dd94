"""The image under testcontainers' modules: what each sets, copies in, runs and waits for, done here as it does it.

The modules themselves need a Docker engine. These are the facts of their releases of 2026 (Java 2.0, Go 0.44, Python
4.15, Node 12); where one has changed what it does between releases, the older way is tried too.
"""

import json
import re
from typing import NamedTuple

import pytest

from tests.support.processes.container import Container
from tests.support.waiting import PATIENCE_S

RUNNING = r".*Transitioning from RECOVERY to RUNNING.*"

COMMON = {
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
KRAFT = {
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    "KAFKA_NODE_ID": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
}
ZOOKEEPER = {
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "10000000",
    "KAFKA_BROKER_ID": "1",
}
CONFLUENT = "/etc/confluent/docker"
FORMAT = (
    f"echo 'kafka-storage format --ignore-formatted -t {{id}} -c /etc/kafka/kafka.properties' >> {CONFLUENT}/configure"
)
FORGET_ZOOKEEPER = f"sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' {CONFLUENT}/configure"


class Module(NamedTuple):
    """What one release of a module does."""

    variables: dict[str, str]
    shell: str
    """What runs the starter script once it is there."""
    path: str
    script: tuple[str, ...]
    waits_for: str
    port: int
    """The port the module maps and gives to clients."""


def _java(listeners: str) -> Module:
    variables = COMMON | KRAFT | {"CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw", "KAFKA_LISTENERS": listeners}
    advertised = "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://broker:9093"
    script = ("#!/bin/bash", advertised, "/etc/kafka/docker/run")
    return Module(variables, "", "/tmp/testcontainers_start.sh", script, RUNNING, 9092)


def _go(advertised: str) -> Module:
    listeners = "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094"
    variables = COMMON | KRAFT | {"KAFKA_LISTENERS": listeners, "KAFKA_REST_BOOTSTRAP_SERVERS": listeners}
    variables["KAFKA_BROKER_ID"] = "1"
    script = (
        "#!/bin/bash",
        f"source {CONFLUENT}/bash-config",
        f"export KAFKA_ADVERTISED_LISTENERS={advertised}",
        FORGET_ZOOKEEPER,
        FORMAT.format(id='"$(kafka-storage random-uuid)"'),
        f"echo '' > {CONFLUENT}/ensure",
        f"{CONFLUENT}/configure",
        f"{CONFLUENT}/launch",
    )
    return Module(variables, "bash ", "/usr/sbin/testcontainers_start.sh", script, RUNNING, 9093)


def _python(variables: dict[str, str], boot: tuple[str, ...], waits_for: str) -> Module:
    advertised = "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://$(hostname -i):9092"
    steps = (f". {CONFLUENT}/bash-config", f"{CONFLUENT}/configure", f"{CONFLUENT}/launch")
    return Module(variables, "sh ", "/tc-start.sh", ("#!/bin/bash", *boot, advertised, *steps), waits_for, 9093)


def _node() -> Module:
    listeners = "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094"
    variables = COMMON | KRAFT | {"CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw", "KAFKA_LISTENERS": listeners}
    variables |= {"KAFKA_BROKER_ID": "1", "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false"}
    advertised = "export KAFKA_ADVERTISED_LISTENERS=BROKER://broker:9092,PLAINTEXT://localhost:9093"
    script = ("#!/bin/bash", advertised, f"{CONFLUENT}/run")
    return Module(variables, "", "/tmp/testcontainers_start.sh", script, ".*", 9093)  # it waits for the port


_PYTHON_LISTENERS = "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092"
_PYTHON_ZOOKEEPER = (
    "echo 'clientPort=2181' > zookeeper.properties",
    "zookeeper-server-start zookeeper.properties &",
    "export KAFKA_ZOOKEEPER_CONNECT='localhost:2181'",
)
MODULES = {
    "Java": _java("PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094"),
    "Java, the first release with Apache's image": _java(
        "PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093, CONTROLLER://0.0.0.0:9094"
    ),
    "Go": _go("PLAINTEXT://localhost:9093,BROKER://broker:9092"),
    "Python": _python(
        COMMON | ZOOKEEPER | {"KAFKA_LISTENERS": _PYTHON_LISTENERS},
        _PYTHON_ZOOKEEPER,
        r".*\[KafkaServer id=\d+\] started.*",
    ),
    "Python with KRaft": _python(
        COMMON
        | ZOOKEEPER
        | KRAFT
        | {
            "KAFKA_LISTENERS": f"{_PYTHON_LISTENERS},CONTROLLER://0.0.0.0:9094",
            "CLUSTER_ID": "mMZFF6tJTPWUEJBaHDKbbw==",
        },
        (FORGET_ZOOKEEPER, FORMAT.format(id="mMZFF6tJTPWUEJBaHDKbbw==")),
        r".*Kafka Server started.*",
    ),
    "Node": _node(),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_modules_starter_script_starts_a_broker_its_wait_sees_and_its_client_uses(box: Container, name: str) -> None:
    module = MODULES[name]
    # The command that the modules give to a container: it waits for their file in this way.
    wait = f"while [ ! -f {module.path} ]; do sleep 0.1; done; {module.shell}{module.path}"
    running = box.start("sh", "-c", wait, environment=module.variables)

    copied = box.root / module.path.removeprefix("/")
    unfinished = copied.with_suffix(".part")
    unfinished.write_text("\n".join(module.script) + "\n")
    unfinished.chmod(0o777)
    unfinished.rename(copied)
    if name == "Node":
        assert running.lines.first(lambda line: line.startswith("barnabas ready "), PATIENCE_S)
    waited_for = re.compile(module.waits_for)
    assert running.lines.first(lambda line: waited_for.fullmatch(line) is not None, PATIENCE_S), running.lines.text()
    bootstrap = f"localhost:{module.port}"
    answer = json.loads(box.ask_from_outside("-m", "tests.support.clients.round_trip", bootstrap, "orders"))
    assert answer == {"values": ["0", "1", "2"], "brokers": [bootstrap]}

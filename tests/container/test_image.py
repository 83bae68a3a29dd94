"""The image as a user has it: run with the compose file's variables, asked by a stock client, stopped."""

import json
import os
import re
import signal
import subprocess
from typing import Any

from tests.support.processes.container import Container, Running
from tests.support.processes.server import ROOT
from tests.support.waiting import PATIENCE_S

COMPOSE = ROOT / "docs" / "compose"
BROKER = ("--bootstrap-server", "localhost:9092")
HADOLINT = ROOT / ".venv" / "bin" / "hadolint"


def compose_variables(name: str) -> dict[str, str]:
    """The environment of a compose file's broker: its lines NAME: "value"."""
    text = (COMPOSE / name).read_text(encoding="utf-8")
    return dict(re.findall(r'^      ([A-Z_]+): "(.*)"$', text, re.MULTILINE))


def is_ready(line: str) -> bool:
    return line.startswith("barnabas ready ")


def started(box: Container, **environment: str) -> Running:
    """The container's own command, once it can be used."""
    running = box.start("/etc/kafka/docker/run", environment=environment)
    assert running.lines.first(is_ready, PATIENCE_S) is not None, running.lines.text()
    return running


def test_the_dockerfile_is_linted() -> None:
    linted = subprocess.run([HADOLINT, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout + linted.stderr) == (0, "")


def test_the_compose_files_differ_in_the_image_and_not_in_the_variables() -> None:
    ours, kafkas = compose_variables("barnabas.yaml"), compose_variables("apache-kafka.yaml")
    assert len(ours) > 10
    assert ours == kafkas


def test_the_image_states_how_it_is_run(image: dict[str, Any]) -> None:
    assert image["Cmd"] == ["/etc/kafka/docker/run"]
    assert not image.get("Entrypoint")
    assert image["User"] == "1000:1000"
    assert image["StopSignal"] == "SIGTERM"
    assert image["Volumes"] == {"/data": {}}
    assert image["ExposedPorts"].keys() == {"9092/tcp", "9404/tcp"}
    assert image["Healthcheck"]["Test"] == ["CMD", "/etc/kafka/docker/healthcheck"]


def test_the_image_runs_the_compiled_form(box: Container) -> None:
    version = box.run("barnabas", "--version")
    assert (version.stdout[-len(" (compiled)\n") :], version.stderr) == (" (compiled)\n", "")
    lines = started(box).lines
    lines.first(lambda line: " broker started " in line, PATIENCE_S)  # stderr comes by another pipe
    said = lines.text().splitlines()
    assert [line.rpartition(" ")[2] for line in said if " broker started " in line] == ["form=compiled"]


def test_the_compose_files_variables_start_it_and_a_stock_client_works_with_it(box: Container) -> None:
    assert box.run("/etc/kafka/docker/healthcheck").returncode != 0
    running = started(box, **compose_variables("barnabas.yaml"))

    healthy = box.run("/etc/kafka/docker/healthcheck")
    assert (healthy.returncode, healthy.stdout) == (0, "HTTP/1.1 200 OK\n"), healthy.stderr

    answer = json.loads(box.ask_from_outside("-m", "tests.support.clients.round_trip", "localhost:9092", "orders"))
    assert answer == {"values": ["0", "1", "2"], "brokers": ["localhost:9092"]}

    inside = box.run(
        "kafka-console-consumer.sh",
        "--bootstrap-server",
        "broker:19092",
        "--topic",
        "orders",
        "--partition",
        "0",
        "--offset",
        "earliest",
        "--max-messages",
        "3",
    )
    assert inside.stdout == "0\n1\n2\n", inside.stderr
    described = box.run(
        "/opt/kafka/bin/kafka-topics.sh", "--describe", "--topic", "orders", "--bootstrap-server", "broker:19092"
    )
    assert "PartitionCount: 3" in described.stdout
    cluster = box.run("kafka-cluster", "cluster-id", "--bootstrap-server", "broker:19092")
    assert cluster.stdout == "Cluster ID: 5L6g3nShT-eMCtK--X86sw\n"

    assert running.signal(signal.SIGTERM) == 0, running.lines.text()
    assert (box.root / "var/lib/kafka/data/.kafka_cleanshutdown").exists()
    assert box.run("/etc/kafka/docker/healthcheck").returncode != 0


def test_secured_it_is_used_from_outside_with_the_settings_that_it_writes(box: Container) -> None:
    security = box.root / "data.security"
    running = box.start("/etc/kafka/docker/run", "--secure")
    assert running.lines.first(is_ready, PATIENCE_S) is not None, running.lines.text()

    healthy = box.run("/etc/kafka/docker/healthcheck")
    assert (healthy.returncode, healthy.stdout) == (0, "HTTP/1.1 200 OK\n"), healthy.stderr

    settings = json.loads((security / "kafka-python.json").read_text())
    assert settings["bootstrap_servers"] == "localhost:9092"
    settings["ssl_cafile"] = str(security / "authority.pem")  # as it is named outside
    program = (
        "import json, sys; from kafka import KafkaProducer; settings = json.loads(sys.argv[1]); "
        "print(KafkaProducer(**settings).send('orders', b'one castle').get(timeout=30).offset)"
    )
    assert box.ask_from_outside("-c", program, json.dumps(settings)) == "0\n"
    as_admin = ("--bootstrap-server", "localhost:9092", "--command-config", "/data.security/admin.properties")
    listed = box.run("kafka-topics.sh", "--list", *as_admin)
    assert listed.stdout == "orders\n", listed.stderr
    assert {each.stat().st_mode & 0o777 for each in security.iterdir()} == {0o600}
    assert running.signal(signal.SIGTERM) == 0


def test_without_variables_it_listens_on_9092_and_keeps_data_in_its_volume(box: Container) -> None:
    running = started(box)
    answer = json.loads(box.ask_from_outside("-m", "tests.support.clients.round_trip", "localhost:9092", "t"))
    assert answer["values"] == ["0", "1", "2"]
    assert " data=/data" in running.lines.text()
    assert running.signal(signal.SIGTERM) == 0


def test_a_mounted_file_comes_before_the_images_and_a_variable_before_both(box: Container) -> None:
    mounted = box.root / "mnt/shared/config/server.properties"
    mounted.write_text("num.partitions=4\nlog.retention.hours=5\n")
    started(box, KAFKA_NUM_PARTITIONS="7")
    box.run("kafka-topics", "--create", "--topic", "t", *BROKER)
    described = box.run("kafka-topics", "--describe", "--topic", "t", *BROKER)
    assert "PartitionCount: 7" in described.stdout, described.stderr
    told = box.run("kafka-configs.sh", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all", *BROKER)
    assert re.search(r"^  log\.retention\.hours=5 ", told.stdout, re.MULTILINE), told.stdout + told.stderr


def test_a_set_up_for_bitnamis_image_starts_on_its_volume_with_its_file(box: Container) -> None:
    for place in ("data", "config"):
        (box.root / "bitnami/kafka" / place).mkdir()
    os.chown(box.root / "bitnami/kafka/data", 1000, 1000)
    (box.root / "bitnami/kafka/config/server.properties").write_text("num.partitions=4\n")
    running = started(
        box, KAFKA_CFG_NODE_ID="3", KAFKA_KRAFT_CLUSTER_ID="5L6g3nShT-eMCtK--X86sw", ALLOW_PLAINTEXT_LISTENER="yes"
    )
    assert " data=/bitnami/kafka/data" in running.lines.text()
    tools = "/opt/bitnami/kafka/bin"
    box.run(f"{tools}/kafka-topics.sh", "--create", "--topic", "t", *BROKER)
    assert "PartitionCount: 4" in box.run(f"{tools}/kafka-topics.sh", "--describe", "--topic", "t", *BROKER).stdout
    assert box.run("kafka-cluster", "cluster-id", *BROKER).stdout == "Cluster ID: 5L6g3nShT-eMCtK--X86sw\n"
    assert running.signal(signal.SIGTERM) == 0


def test_only_told_what_to_advertise_it_listens_there_on_every_interface(box: Container) -> None:
    started(box, KAFKA_ADVERTISED_LISTENERS="PLAINTEXT://localhost:9999")
    answer = json.loads(box.ask_from_outside("-m", "tests.support.clients.round_trip", "localhost:9999", "t"))
    assert answer["brokers"] == ["localhost:9999"]


def test_variables_and_flags_may_follow_the_command(box: Container) -> None:
    running = box.start("/etc/kafka/docker/run", "KAFKA_NODE_ID=5", "--topic", "wanted:2")
    line = "[KafkaServer id=5] started"
    assert running.lines.first(lambda it: it == line, PATIENCE_S) is not None, running.lines.text()
    assert "PartitionCount: 2" in box.run("kafka-topics.sh", "--describe", "--topic", "wanted", *BROKER).stdout


def test_an_impossible_value_is_one_line_and_a_failure(box: Container) -> None:
    for variables, words in (
        ({"KAFKA_LISTENERS": "SASL_SSL://:9092"}, "SASL_SSL"),
        ({"KAFKA_NUM_PARTITIONS": "many"}, "num.partitions"),
    ):
        refused = box.run("/etc/kafka/docker/run", environment=variables)
        assert refused.returncode == 1
        assert [line for line in refused.stderr.splitlines() if words in line and line.startswith("barnabas: ")]


def test_its_files_may_be_read_only_but_for_the_data_and_tmp(box: Container) -> None:
    """Without exit statuses: buildah, which cannot clean up such files, has 2."""
    box.make_read_only("/tmp", "/data")
    assert "Read-only file system" in box.run("touch", "/home/barnabas/x").stderr
    running = started(box)
    answer = json.loads(box.ask_from_outside("-m", "tests.support.clients.round_trip", "localhost:9092", "t"))
    assert answer["values"] == ["0", "1", "2"]
    assert box.run("/etc/kafka/docker/healthcheck").stdout == "HTTP/1.1 200 OK\n"
    assert box.run("kafka-topics.sh", "--list", *BROKER).stdout == "t\n"
    running.signal(signal.SIGTERM)
    assert " broker stopped" in running.lines.text()
    assert "Read-only" not in running.lines.text()


def test_it_has_no_way_to_change_itself(box: Container) -> None:
    assert box.run("id", "-u").stdout == "1000\n"
    for place in ("/opt/barnabas", "/opt/kafka/bin", "/etc/kafka/docker", "/usr/bin"):
        assert box.run("test", "-w", place).returncode == 1, place
    assert box.run("pip", "--version").returncode != 0

"""What the chart renders is served: the image's command with these flags and files, outside of a container."""

import http.client
import os
import re
import signal
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.deploy.chart import Object, container, one, rendered
from tests.support.certificates import authority
from tests.support.ports import unused_port
from tests.support.processes.server import Lines
from tests.support.source_tree import ROOT
from tests.support.waiting import PATIENCE_S

BIN = ROOT / ".venv" / "bin"
TOPICS: list[Object] = [
    {"name": "orders", "partitions": 3},
    {"name": "audit", "partitions": 2, "config": {"cleanup.policy": "compact"}},
]
SECRETS: Object = {
    "tls": {"existingSecret": "kafka-tls"},
    "sasl": {"existingSecret": "kafka-users", "client": {"users": ["alice", "bob"]}},
}


class Pod(NamedTuple):
    """A broker as the chart starts it, with the places of the pod below a directory."""

    place: Path
    values: Object
    lines: Lines

    @property
    def local(self) -> str:
        return f"localhost:{self.values['listeners']['local']['containerPort']}"

    def status_of_probe(self, name: str) -> int:
        """The status that the kubelet gets for a probe; it does not check certificates."""
        probe = container(rendered(self.values))[name]["httpGet"]
        port = self.values["metrics"]["containerPort"]
        if probe["scheme"] == "HTTPS":
            context = ssl._create_unverified_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.request("GET", probe["path"])
            return connection.getresponse().status
        finally:
            connection.close()

    def topics(self, *options: str) -> str:
        """What a client sees that comes by kubectl port-forward."""
        command = [
            str(BIN / "barnabas"),
            "topics",
            "describe",
            "audit",
            "orders",
            "--bootstrap-server",
            self.local,
            *options,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def pod(place: Path, values: Object) -> Iterator[Pod]:
    """Serve what the chart renders for the values."""
    listeners = {name: {"containerPort": unused_port()} for name in ("client", "local", "external")}
    listeners["client"] |= values.get("listeners", {}).get("client", {})
    values = {"provisioning": {"topics": TOPICS}, "persistence": {"mountPath": f"{place}/volume"}, **values}
    values |= {"listeners": listeners, "metrics": {"containerPort": unused_port()}}
    objects = rendered(values)
    for name, text in one(objects, "ConfigMap", "kafka-barnabas-configuration")["data"].items():
        (place / "config").mkdir(exist_ok=True)
        (place / "config" / name).write_text(_here(text, place), encoding="utf-8")
    (place / "run").write_text(_here((ROOT / "docker" / "run").read_text(encoding="utf-8"), place), encoding="utf-8")
    words = [_here(word, place) for word in container(objects)["args"]]
    assert words[0] == f"{ROOT}/docker/run"
    environment = {each["name"]: each["value"] for each in container(objects)["env"]}
    with _started(["bash", f"{place}/run", *words[1:]], environment) as lines:
        yield Pod(place, values, lines)


def _here(text: str, place: Path) -> str:
    moved = {
        "/mnt/shared/config": f"{place}/config",
        "/secrets": f"{place}/secrets",
        "/bitnami/kafka": f"{place}/bitnami",
        "/etc/kafka/docker": f"{ROOT}/docker",
    }
    for there, here in moved.items():
        text = text.replace(there, here)
    return text


@contextmanager
def _started(command: Sequence[str], environment: dict[str, str]) -> Iterator[Lines]:
    path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        command,
        env=os.environ | environment | path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    lines = Lines(process.stdout)
    try:
        assert lines.first(lambda line: line.startswith("barnabas ready "), PATIENCE_S), lines.text()
        yield lines
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        lines.join()


def test_a_client_sees_the_topics_and_the_kubelet_a_ready_pod(tmp_path: Path) -> None:
    with pod(tmp_path, {}) as running:
        described = running.topics()
        assert re.findall(r"^(\w+)  id .*  (\d) partitions$", described, re.MULTILINE) == [
            ("audit", "2"),
            ("orders", "3"),
        ]
        assert "cleanup.policy=compact" in described
        assert {running.status_of_probe(name) for name in ("startupProbe", "readinessProbe", "livenessProbe")} == {200}


def test_a_topic_that_is_added_to_the_values_is_there_after_the_next_start(tmp_path: Path) -> None:
    with pod(tmp_path, {"provisioning": {"topics": [{"name": "audit"}]}}):
        pass
    with pod(tmp_path, {}) as running:
        assert "orders" in running.topics()


def test_with_secure_the_settings_of_clients_are_in_the_volume(tmp_path: Path) -> None:
    with pod(tmp_path, {"secure": True}) as running:
        settings = tmp_path / "volume" / "data.security" / "client.properties"
        assert "orders" in running.topics("--command-config", str(settings))
        assert running.status_of_probe("readinessProbe") == 200


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-256", "scram.ScramLoginModule")],
)
def test_users_log_in_with_the_passwords_of_the_secret(tmp_path: Path, mechanism: str, module: str) -> None:
    secrets = tmp_path / "secrets"
    for name in ("tls", "sasl"):
        (secrets / name).mkdir(parents=True)
    issued = authority().issue()
    (secrets / "tls" / "tls.crt").write_text(issued.certificate_pem)
    (secrets / "tls" / "tls.key").write_text(issued.key_pem())
    for user in ("alice", "bob"):
        (secrets / "sasl" / user).write_text(f"{user}s-password")
    with pod(tmp_path, {**SECRETS, "listeners": {"client": {"protocol": "SASL_SSL"}}}) as running:
        settings = tmp_path / "bob.properties"
        login = f'org.apache.kafka.common.security.{module} required username="bob" password="bobs-password";'
        trusted = authority().write(tmp_path / "authority.pem")
        settings.write_text(
            f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={trusted}\n"
        )
        assert "orders" in running.topics("--command-config", str(settings))
        assert running.status_of_probe("livenessProbe") == 200
        assert "s-password" not in running.lines.text()

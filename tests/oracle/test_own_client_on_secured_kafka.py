"""Our own client against Apache Kafka 4.4.0 with TLS and SASL, and the commands of docs/security/clients.md."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
from barnabas.client.security.properties import security_of
from tests.support.certificates import Authority
from tests.support.clients.committed import begun, read
from tests.support.processes.server import ROOT
from tests.support.security.secured import (
    ELSEWHERE,
    EXPIRED,
    MECHANISMS,
    OAUTHBEARER,
    PLAINTEXT,
    SASL_PLAINTEXT,
    SASL_SSL,
    SSL,
    SecuredKafka,
)
from tests.support.waiting import PATIENCE_S, until

ALICE = "alice"
PAGE = (ROOT / "docs" / "security" / "clients.md").read_text()
SESSION_MS = 3000


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    settings = {
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.num.partitions": 1,
        "listener.name.sasl_plaintext.scram-sha-256.connections.max.reauth.ms": SESSION_MS,
    }
    with SecuredKafka(
        tmp_path_factory.mktemp("kafka") / "data",
        settings,
        listeners=(SASL_PLAINTEXT, SASL_SSL, SSL, EXPIRED, ELSEWHERE),
        users=(ALICE,),
        scram_users=(ALICE,),
        mechanisms=(*MECHANISMS, OAUTHBEARER),
        has_authorizer=False,
    ) as running:
        yield running


def client(kafka: SecuredKafka, listener: str, properties: dict[str, str]) -> Client:
    return Client(f"127.0.0.1:{kafka.ports[listener]}", security=security_of(properties), timeout_ms=20_000)


def write_and_read(secured: Client, topic: str) -> None:
    """A topic, a transaction that is committed and one that is not, and what a reader gets."""
    with secured:
        create_topic(secured, topic, partitions=2)
        producer = begun(secured, f"{topic}-producer")
        for partition in range(2):
            producer.send(topic, b"0-%d" % partition * 20_000, partition=partition)
        producer.commit()
        producer.begin()
        for partition in range(2):
            producer.send(topic, b"1-%d" % partition * 20_000, partition=partition)
        producer.abort()
        places = [(topic, 0), (topic, 1)]  # Kafka writes markers after its answer
        until(lambda: sorted((it.record.value or b"")[:3] for it in read(secured, places)) == [b"0-0", b"0-1"])


@pytest.mark.parametrize("mechanism", [*MECHANISMS, OAUTHBEARER])
def test_transactions_are_written_and_read_over_sasl_ssl(kafka: SecuredKafka, mechanism: str) -> None:
    properties = kafka.security.client_properties(ALICE, mechanism)
    write_and_read(client(kafka, SASL_SSL, properties), f"by-{mechanism.lower()}")


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_transactions_are_written_and_read_over_mutual_tls(kafka: SecuredKafka, protocol: str) -> None:
    properties = kafka.security.mutual_properties() | {"ssl.enabled.protocols": protocol}
    write_and_read(client(kafka, SSL, properties), f"by-{protocol}")


def test_a_session_that_ends_is_begun_anew_on_the_same_connection(kafka: SecuredKafka) -> None:
    properties = kafka.security.client_properties(ALICE, "SCRAM-SHA-256") | {"security.protocol": SASL_PLAINTEXT}
    with client(kafka, SASL_PLAINTEXT, properties) as long:
        long.connect()
        connection = long.node(1, long.deadline())
        ends_at = time.monotonic() + 2 * SESSION_MS / 1000
        while time.monotonic() < ends_at:
            long.refresh([], long.deadline())
        assert connection.is_open
        assert long.node(1, long.deadline()) is connection


def refused(kafka: SecuredKafka, listener: str, properties: dict[str, str]) -> str:
    """What is said, at once and not after retries."""
    began = time.monotonic()
    refusal = pytest.raises((AuthenticationFailed, ConnectionFailed))
    with client(kafka, listener, properties) as outside, refusal as said:
        outside.connect()
    assert time.monotonic() - began < 15
    return str(said.value)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_told(kafka: SecuredKafka, mechanism: str) -> None:
    said = refused(kafka, SASL_SSL, kafka.security.client_properties(ALICE, mechanism, "wr0ng"))
    assert re.search(rf"127\.0\.0\.1:\d+ refused {mechanism}: Authentication failed", said)
    assert "wr0ng" not in said


def test_certificates_that_are_not_accepted_are_told(kafka: SecuredKafka, tmp_path: Path) -> None:
    trusted = kafka.security.mutual_properties()
    assert "is not accepted: certificate has expired" in refused(kafka, EXPIRED, trusted)
    assert "certificate is not valid for '127.0.0.1'" in refused(kafka, ELSEWHERE, trusted)
    another = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(Authority("x").write(tmp_path / "x"))}
    assert "(ssl.truststore.* sets the trusted authorities" in refused(kafka, SSL, {**trusted, **another})


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_a_client_without_a_certificate_is_told_to_have_one(kafka: SecuredKafka, protocol: str) -> None:
    properties = {key: value for key, value in kafka.security.mutual_properties().items() if "keystore" not in key}
    assert "(ssl.keystore.*)" in refused(kafka, SSL, properties | {"ssl.enabled.protocols": protocol})


@pytest.mark.parametrize(
    ("listener", "protocol", "sentence"),
    [
        (SASL_SSL, "PLAINTEXT", "speaks TLS: set security.protocol to SSL or SASL_SSL"),
        (SASL_SSL, "SASL_PLAINTEXT", "speaks TLS: set security.protocol to SSL or SASL_SSL"),
        (SASL_SSL, "SSL", "if it asks for SASL, set security.protocol and sasl.mechanism"),
        (SASL_PLAINTEXT, "PLAINTEXT", "if it asks for SASL, set security.protocol and sasl.mechanism"),
        (
            SASL_PLAINTEXT,
            "SASL_SSL",
            "closed the connection during the TLS handshake: perhaps that port does not use TLS",
        ),
        (PLAINTEXT, "SASL_PLAINTEXT", "does not use SASL: set security.protocol to PLAINTEXT or SSL"),
    ],
)
def test_another_protocol_than_the_listeners_is_told(
    kafka: SecuredKafka, listener: str, protocol: str, sentence: str
) -> None:
    properties = kafka.security.client_properties(ALICE, "SCRAM-SHA-512") | {"security.protocol": protocol}
    assert sentence in refused(kafka, listener, properties)


def blocks(language: str, heading: str) -> list[str]:
    """The blocks of a language below a heading of the page."""
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    return re.findall(rf"^```{language}\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)


def run_in(directory: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """With our programs on the path."""
    path = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(
        command, cwd=directory, env=path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_the_page_of_clients_works_as_written(kafka: SecuredKafka, tmp_path: Path) -> None:
    [properties], [commands], [program] = (
        blocks("properties", "The command line"),
        blocks("sh", "The command line"),
        blocks("python", "Python"),
    )
    kafka.security.authority.write(tmp_path / "ca.pem")
    (tmp_path / "client.properties").write_text(properties)
    script = commands.replace("kafka.example:9093", f"127.0.0.1:{kafka.ports[SASL_SSL]}")
    done = run_in(tmp_path, ["sh", "-e", "-c", script])
    assert (done.returncode, done.stderr) == (0, "")
    assert "one castle" in done.stdout.splitlines()
    program = program.replace("kafka.example:9093", f"127.0.0.1:{kafka.ports[SASL_SSL]}")
    done = run_in(tmp_path, ["python", "-c", program])
    assert (done.returncode, done.stderr) == (0, "")
    assert "127.0.0.1" in done.stdout

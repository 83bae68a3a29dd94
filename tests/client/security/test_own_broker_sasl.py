"""Our client with Barnabas's own SASL over TLS: every mechanism, wrong passwords, and sessions that end."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.client import Client
from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
from barnabas.client.security.properties import security_of
from tests.support.certificates import authority
from tests.support.clients.committed import read_after_transactions
from tests.support.ports import unused_port
from tests.support.processes.own_broker import OwnBroker

USER, PASSWORD = "alice", "alice-secret"
SCRAMS = ["SCRAM-SHA-256", "SCRAM-SHA-512"]
SESSION_MS = 3000
_MODULES = "org.apache.kafka.common.security"


class SaslBroker(OwnBroker):
    """One listener, SASL_SSL, with alice in every mechanism."""

    def __init__(self, directory: Path) -> None:
        self.trusted = authority().write(directory / "authority.pem")
        self.listener_port = unused_port()
        settings = {
            "listeners": f"SASL_SSL://localhost:{self.listener_port}",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": authority().issue().write_pem(directory / "broker.pem"),
            "sasl.enabled.mechanisms": ",".join(["PLAIN", *SCRAMS]),
            "listener.name.sasl_ssl.plain.sasl.jaas.config": (
                f'{_MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
            ),
            "listener.name.sasl_ssl.scram-sha-512.connections.max.reauth.ms": SESSION_MS,
        }
        users = [word for name in SCRAMS for word in ("--add-scram", f"{name}=[name={USER},password={PASSWORD}]")]
        super().__init__(directory / "data", settings, flags=users)

    def client(self, mechanism: str, password: str = PASSWORD, protocol: str = "SASL_SSL") -> Client:
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        properties = {
            "security.protocol": protocol,
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{_MODULES}.{module} required username="{USER}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted),
        }
        return Client(f"localhost:{self.listener_port}", security=security_of(properties), timeout_ms=20_000)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    with SaslBroker(tmp_path_factory.mktemp("sasl")) as running:
        yield running


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAMS])
def test_transactions_are_written_and_read(broker: SaslBroker, mechanism: str) -> None:
    topic = f"by-{mechanism.lower()}"
    with broker.client(mechanism) as client:
        values = read_after_transactions(client, topic, committed=b"committed", aborted=b"aborted")
        assert values == [b"committed"]


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAMS])
def test_a_wrong_password_is_reported_at_once(broker: SaslBroker, mechanism: str) -> None:
    with (
        broker.client(mechanism, "wr0ng") as client,
        pytest.raises(AuthenticationFailed, match=f"refused {mechanism}: Authentication failed") as said,
    ):
        client.connect()
    assert "wr0ng" not in str(said.value)


def test_a_client_without_a_login_gets_a_hint(broker: SaslBroker) -> None:
    with (
        broker.client("PLAIN", protocol="SSL") as client,
        pytest.raises(ConnectionFailed, match="if it asks for SASL, set security"),
    ):
        client.connect()


def test_a_session_that_ends_is_begun_anew_on_the_same_connection(broker: SaslBroker) -> None:
    with broker.client("SCRAM-SHA-512") as client:
        client.connect()
        connection = client.node(1, client.deadline())
        ends_at = time.monotonic() + 2 * SESSION_MS / 1000
        while time.monotonic() < ends_at:
            client.refresh([], client.deadline())
        assert connection.is_open
        assert client.node(1, client.deadline()) is connection

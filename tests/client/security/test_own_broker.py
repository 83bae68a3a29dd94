"""Our client with Barnabas's own TLS: written, read, and refused in the same sentences as by Apache Kafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.client import Client
from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
from barnabas.client.security.properties import security_of
from tests.support.certificates import Authority, authority
from tests.support.clients.committed import read_after_transactions
from tests.support.ports import unused_port
from tests.support.processes.own_broker import OwnBroker

REFUSED = (AuthenticationFailed, ConnectionFailed)


class TlsBroker(OwnBroker):
    """Listeners for mutual TLS and with an expired certificate."""

    def __init__(self, directory: Path) -> None:
        self.ports = {"MUTUAL": unused_port(), "EXPIRED": unused_port()}
        issued = {"mutual": authority().issue(), "expired": authority().issue(is_expired=True)}
        self.trusted = authority().write(directory / "authority.pem")
        self.own = authority().issue("client").write_pem(directory / "client.pem")
        settings = {
            "listeners": ",".join(f"{name}://localhost:{port}" for name, port in self.ports.items()),
            "listener.security.protocol.map": "MUTUAL:SSL,EXPIRED:SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.trusted,
            "listener.name.mutual.ssl.client.auth": "required",
        }
        for name, each in issued.items():
            settings[f"listener.name.{name}.ssl.keystore.type"] = "PEM"
            settings[f"listener.name.{name}.ssl.keystore.location"] = each.write_pem(directory / f"{name}.pem")
        super().__init__(directory / "data", settings)

    def client(self, listener: str, *, is_known: bool = True, **more: str) -> Client:
        properties = {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted),
        }
        if is_known:
            properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.own)}
        properties |= {key.replace("_", "."): value for key, value in more.items()}
        return Client(f"localhost:{self.ports[listener]}", security=security_of(properties), timeout_ms=20_000)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    with TlsBroker(tmp_path_factory.mktemp("tls")) as running:
        yield running


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_transactions_are_written_and_read(broker: TlsBroker, protocol: str) -> None:
    topic = f"by-{protocol}"
    with broker.client("MUTUAL", ssl_enabled_protocols=protocol) as client:
        large = {"committed": b"committed" * 20_000, "aborted": b"aborted" * 20_000}
        assert read_after_transactions(client, topic, **large) == [b"committed" * 20_000]


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_a_client_without_a_certificate_is_told_to_have_one(broker: TlsBroker, protocol: str) -> None:
    with (
        broker.client("MUTUAL", is_known=False, ssl_enabled_protocols=protocol) as client,
        pytest.raises(REFUSED, match=r"\(ssl\.keystore\.\*\)"),
    ):
        client.connect()


def test_certificates_that_are_not_accepted_are_reported(broker: TlsBroker, tmp_path: Path) -> None:
    with broker.client("EXPIRED") as client, pytest.raises(AuthenticationFailed, match="certificate has expired"):
        client.connect()
    stranger = str(Authority("another").write(tmp_path / "another.pem"))
    with (
        broker.client("MUTUAL", ssl_truststore_location=stranger) as client,
        pytest.raises(AuthenticationFailed, match="sets the trusted authorities"),
    ):
        client.connect()


def test_a_client_without_tls_is_told_to_speak_it(broker: TlsBroker) -> None:
    with (
        Client(f"localhost:{broker.ports['MUTUAL']}", timeout_ms=5000) as client,
        pytest.raises((AuthenticationFailed, ConnectionFailed), match=r"set security\.protocol to SSL or SASL_SSL"),
    ):
        client.connect()

"""TLS on connections: stores of each type, certificates that are refused, and waiting for what was read ahead."""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.client.client import Client
from barnabas.client.connections.connection import wait_for_answer
from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
from barnabas.client.security.properties import security_of
from barnabas.client.security.settings import SettingsError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.registry import ApiKey
from tests.support.certificates import Authority, Issued
from tests.support.scripted.broker import ScriptedBroker

PASSWORD = "password-of-stores"
HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
ALIVE = {ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=0)}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def server_context(identity: Issued, directory: Path, clients: Authority | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.write_pem(directory / "server.pem"))
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.pem)
    return context


class Secured:
    """A broker under TLS, and clients of it."""

    def __init__(self, broker: ScriptedBroker, trust: dict[str, str]) -> None:
        self.broker = broker
        self._trust = trust

    def client(self, **more: str) -> Client:
        named = {key.replace("_", "."): value for key, value in more.items()}
        properties = {"security.protocol": "SSL", **self._trust, **named}
        return Client(f"localhost:{self.broker.port}", security=security_of(properties), timeout_ms=5000)

    def is_served(self, **more: str) -> bool:
        with self.client(**more) as client:
            client.connect()
            return bool(client.ask_any(HEARTBEAT).error_code == 0)


def trust(authority: Authority, directory: Path) -> dict[str, str]:
    path = authority.write(directory / "authority.pem")
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(path)}


Begin = Callable[..., Secured]


@pytest.fixture
def begin(authority: Authority, tmp_path: Path) -> Iterator[Begin]:
    brokers: list[ScriptedBroker] = []

    def begin(identity: Issued | None = None, clients: Authority | None = None) -> Secured:
        context = server_context(identity or authority.issue("broker"), tmp_path, clients)
        broker = ScriptedBroker(ALIVE, tls=context)
        brokers.append(broker)
        return Secured(broker.__enter__(), trust(authority, tmp_path))

    yield begin
    for broker in brokers:
        broker.__exit__(None, None, None)


@pytest.mark.parametrize("protocols", ["TLSv1.2", "TLSv1.3", "TLSv1.2,TLSv1.3"])
def test_a_trusted_broker_is_spoken_to(begin: Begin, protocols: str) -> None:
    assert begin().is_served(ssl_enabled_protocols=protocols)


def test_trust_stands_in_a_file_of_any_type_or_in_the_setting(
    begin: Begin, authority: Authority, tmp_path: Path
) -> None:
    secured = begin()
    pkcs12 = str(authority.write_pkcs12(tmp_path / "trust.p12", PASSWORD))
    for kind in ("PKCS12", "JKS"):  # which Java takes for each other
        assert secured.is_served(
            ssl_truststore_type=kind, ssl_truststore_location=pkcs12, ssl_truststore_password=PASSWORD
        )
    assert secured.is_served(ssl_truststore_location="", ssl_truststore_certificates=authority.pem)


def test_a_client_shows_a_certificate_out_of_any_store(begin: Begin, authority: Authority, tmp_path: Path) -> None:
    secured, own = begin(clients=authority), authority.issue("client")
    assert secured.is_served(ssl_keystore_type="PEM", ssl_keystore_location=str(own.write_pem(tmp_path / "own.pem")))
    assert secured.is_served(
        ssl_keystore_type="PKCS12",
        ssl_keystore_location=str(own.write_pkcs12(tmp_path / "own.p12", PASSWORD)),
        ssl_keystore_password=PASSWORD,
    )
    assert secured.is_served(
        ssl_keystore_type="PEM",
        ssl_keystore_key=own.key_pem("s3cr3t"),
        ssl_key_password="s3cr3t",
        ssl_keystore_certificate_chain=own.certificate_pem,
    )


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_a_broker_that_wants_a_certificate_reports_it(begin: Begin, authority: Authority, protocol: str) -> None:
    with (
        begin(clients=authority).client(ssl_enabled_protocols=protocol) as client,
        pytest.raises((AuthenticationFailed, ConnectionFailed), match=r"ssl\.keystore\.\*"),
    ):
        client.connect()


def refused(secured: Secured, **more: str) -> str:
    with secured.client(**more) as client, pytest.raises(AuthenticationFailed) as failed:
        client.ask_any(HEARTBEAT)
    assert secured.broker.connections == 1, "it was tried again"
    return str(failed.value)


def test_an_expired_certificate_is_refused_at_once(begin: Begin, authority: Authority) -> None:
    expired = authority.issue("broker", is_expired=True)
    assert "is not accepted: certificate has expired" in refused(begin(expired))


def test_another_hosts_certificate_is_refused_unless_nobody_looks(begin: Begin, authority: Authority) -> None:
    secured = begin(authority.issue("broker", ["kafka.example"]))
    assert "certificate is not valid for 'localhost'" in refused(secured)
    assert secured.is_served(ssl_endpoint_identification_algorithm="")


def test_another_authority_is_refused(begin: Begin) -> None:
    said = refused(begin(Authority("another").issue("broker")))
    assert "ssl.truststore.* sets the trusted authorities" in said


def test_a_broker_without_tls_is_reported_as_one() -> None:
    with (
        ScriptedBroker(ALIVE) as broker,
        Client(broker.address, security=security_of({"security.protocol": "SSL"}), timeout_ms=2000) as client,
        pytest.raises(
            ConnectionFailed, match="closed the connection during the TLS handshake: perhaps that port does not use TLS"
        ),
    ):
        client.connect()


def test_a_client_without_tls_is_told_to_speak_it(begin: Begin) -> None:
    secured = begin()
    with (
        Client(secured.broker.address, timeout_ms=5000) as client,
        pytest.raises(ConnectionFailed, match=r"if it speaks TLS, set security\.protocol to SSL or SASL_SSL"),
    ):
        client.connect()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"ssl_truststore_location": "/not/there.pem"}, "ssl.truststore.location: /not/there.pem: no such file"),
        ({"ssl_keystore_type": "PEM", "ssl_keystore_location": "/not/there"}, "ssl.keystore.location: /not/there: no"),
        ({"ssl_cipher_suites": "TLS_AES_128_GCM_SHA256", "ssl_enabled_protocols": "TLSv1.2"}, "no suite of"),
    ],
)
def test_a_store_that_is_not_there_is_named(begin: Begin, more: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        begin().client(**more)


def test_a_pem_file_without_its_type_is_reported_with_the_setting(
    begin: Begin, authority: Authority, tmp_path: Path
) -> None:
    secured, path = begin(), str(authority.issue("client").write_pem(tmp_path / "own.pem"))
    with pytest.raises(SettingsError, match=f"{path}: it is a PEM file: set ssl.truststore.type=PEM"):
        secured.client(ssl_truststore_type="JKS", ssl_truststore_location=path)
    with pytest.raises(SettingsError, match=f"{path}: it is a PEM file: set ssl.keystore.type=PEM"):
        secured.client(ssl_keystore_location=path, ssl_keystore_password="x")


def test_a_wrong_password_of_a_store_is_reported_and_not_shown(
    begin: Begin, authority: Authority, tmp_path: Path
) -> None:
    secured, own = begin(), authority.issue("client")
    for properties in (
        {
            "ssl_keystore_type": "PKCS12",
            "ssl_keystore_location": str(own.write_pkcs12(tmp_path / "own.p12", PASSWORD)),
            "ssl_keystore_password": "wr0ng",
        },
        {
            "ssl_keystore_type": "PEM",
            "ssl_keystore_key": own.key_pem("s3cr3t"),
            "ssl_keystore_certificate_chain": own.certificate_pem,
            "ssl_key_password": "wr0ng",
        },
    ):
        with pytest.raises(SettingsError, match="password") as failed:
            secured.client(**properties)
        assert "wr0ng" not in str(failed.value)


def test_prefetched_records_are_waited_for(begin: Begin) -> None:
    with begin().client() as client:
        client.connect()
        connection = client.node(1, client.deadline())
        assert not wait_for_answer([connection], 0)
        for _ in range(3):
            connection.send(HEARTBEAT, client.deadline())
        answers = 0
        while answers < 3:
            assert wait_for_answer([connection], 5)
            while connection.in_flight and connection.is_answered:
                assert connection.receive(client.deadline()).error_code == 0
                answers += 1
        assert not wait_for_answer([connection], 0)

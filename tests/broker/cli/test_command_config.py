"""--command-config: commands against a secured broker, and what is said of a file that makes no sense."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.registry import ApiKey
from tests.support.certificates import Authority
from tests.support.command_line import Barnabas
from tests.support.scripted.broker import HANG_UP, ScriptedBroker
from tests.support.scripted.sasl import PASSWORD, USER, ScriptedSasl

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Secured:
    """A broker that speaks SASL_SSL, and files of clients' settings."""

    def __init__(self, broker: ScriptedBroker, directory: Path) -> None:
        self.address = f"localhost:{broker.port}"
        self.broker = broker
        self._directory = directory

    def settings(self, password: str = PASSWORD, **more: str) -> str:
        """The path of a client.properties."""
        properties = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{MODULE} required username="{USER}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._directory / "authority.pem"),
            **{key.replace("_", "."): value for key, value in more.items()},
        }
        path = self._directory / "client.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return str(path)


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Secured]:
    authority = Authority()
    authority.write(tmp_path / "authority.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("broker").write_pem(tmp_path / "broker.pem"))
    with ScriptedBroker(ScriptedSasl().script, {"orders": 1}, tls=context) as broker:
        yield Secured(broker, tmp_path)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_secured_broker_is_spoken_to(offline: Barnabas, secured: Secured, is_before: bool) -> None:
    where = ["--bootstrap-server", secured.address, "--command-config", secured.settings()]
    words = ["topics", *where, "list"] if is_before else ["topics", "list", *where]
    found = offline(*words)
    assert (found.status, found.stderr) == (0, "")
    assert "orders" in found.stdout


def test_settings_without_effect_are_named_without_their_value(offline: Barnabas, secured: Secured) -> None:
    path = secured.settings(ssl_trustore_password="s3cr3t", acks="all", bootstrap_servers="elsewhere:1")
    found = offline("topics", "list", "--bootstrap-server", secured.address, "--command-config", path)
    assert found.status == 0
    assert found.stderr == f"barnabas: --command-config: {path}: has no effect here: acks, ssl.trustore.password\n"
    with open(path, "a") as file:
        file.write("bootstrap.key=-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBg+kqhkiG9w0BA\nhunter.two\n")
    found = offline("topics", "list", "--bootstrap-server", secured.address, "--command-config", path)
    assert found.stderr.endswith("here: acks, bootstrap.key, ssl.trustore.password, 2 lines that are not settings\n")


def test_a_value_in_utf_8_is_named_as_java_reads_another(offline: Barnabas, secured: Secured) -> None:
    path = Path(secured.settings())
    path.write_bytes(path.read_bytes() + "ssl.key.password=s3cr3\u00fc\n".encode())
    found = offline("topics", "list", "--bootstrap-server", secured.address, "--command-config", str(path))
    assert (found.status, found.stderr.count("\n"), "s3cr3" in found.stderr) == (0, 1, False)
    assert f"{path}: ssl.key.password: its value is UTF-8 in the file, which is read as ISO-8859-1" in found.stderr


def test_the_file_states_where_the_cluster_is_unless_an_option_does(offline: Barnabas, secured: Secured) -> None:
    del secured.broker.offered[ApiKey.DESCRIBE_LOG_DIRS], secured.broker.offered[ApiKey.LIST_GROUPS]
    path = secured.settings(bootstrap_servers=secured.address)
    for command, told in ((["topics", "list"], "orders"), (["doctor"], f"{secured.address} answers")):
        assert told in offline(*command, "--command-config", path).stdout
    path = secured.settings(bootstrap_servers="nowhere:x")
    given = ["--bootstrap-server", secured.address]
    assert offline("topics", "list", "--command-config", path, *given).status == 0
    found = offline("topics", "list", "--command-config", path)
    assert found.status == 2
    assert found.stderr.startswith(f"barnabas: --command-config: {path}: bootstrap.servers: ")
    found = offline("topics", "list", "--command-config", path, "--bootstrap-server", "")
    assert (found.status, found.stderr.startswith("barnabas: --bootstrap-server: ")) == (2, True)
    found = offline("doctor", "--command-config", secured.settings())
    assert (found.status, "has no bootstrap.servers: give --bootstrap-server" in found.stderr) == (2, True)


def test_a_wrong_password_is_reported_at_once(offline: Barnabas, secured: Secured) -> None:
    path = secured.settings("wr0ng")
    found = offline("topics", "list", "--bootstrap-server", secured.address, "--command-config", path)
    assert (found.status, found.stdout) == (1, "")
    assert found.stderr.startswith(f"barnabas: {secured.address} refused SCRAM-SHA-512: Authentication failed")
    assert "wr0ng" not in found.stderr
    assert secured.broker.connections == 1


def test_without_the_file_it_is_said_that_one_is_needed(offline: Barnabas) -> None:
    with ScriptedBroker() as broker:
        broker.script[ApiKey.METADATA] = lambda request: HANG_UP
        found = offline("topics", "list", "--bootstrap-server", broker.address)
    assert found.status == 1
    assert found.stderr.endswith(
        "if it asks for SASL, set security.protocol and sasl.mechanism in a file, and name it with --command-config\n"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no such file or directory"),
        (b"sasl.jaas.config=\\user", "line 1: a \\u is not followed by four hexadecimal digits"),
        (b"security.protocol=TLS\n", "security.protocol is 'TLS', and must be one of"),
        (b"security.protocol=SSL\nssl.truststore.location=/not/there\n", "/not/there: no such file or directory"),
    ],
)
def test_a_file_that_is_invalid_is_a_usage_error(
    offline: Barnabas, tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "client.properties"
    if content is not None:
        path.write_bytes(content)
    for command in (["topics", "list"], ["doctor", "--bootstrap-server", "localhost:1"]):
        found = offline(*command, "--command-config", str(path))
        assert (found.status, len(found.stderr.splitlines())) == (2, 1)
        assert f"--command-config: {path}" in found.stderr
        assert sentence in found.stderr


def test_the_doctor_looks_at_a_secured_broker(offline: Barnabas, secured: Secured) -> None:
    del secured.broker.offered[ApiKey.DESCRIBE_LOG_DIRS], secured.broker.offered[ApiKey.LIST_GROUPS]
    where = ["--bootstrap-server", secured.address, "--command-config", secured.settings()]
    assert f"{secured.address} answers" in offline("doctor", *where).stdout
    blind = offline("doctor", "--bootstrap-server", secured.address)
    assert blind.status == 1
    assert "--command-config" in blind.stdout


def test_variables_in_the_file_are_resolved(offline: Barnabas, secured: Secured, tmp_path: Path) -> None:
    """As Java's clients do it, with Kafka's configuration providers."""
    (tmp_path / "passwords.properties").write_text(f"mine={PASSWORD}\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    for key, status in (("mine", 0), ("nobodys", 2)):
        variable = f"${{file:{tmp_path}/passwords.properties:{key}}}"
        path = secured.settings(variable, config_providers="file", config_providers_file_class=provider)
        found = offline("topics", "list", "--bootstrap-server", secured.address, "--command-config", path)
        assert found.status == status, found.stderr
        missing = f"sasl.jaas.config: {tmp_path}/passwords.properties has no key nobodys"
        assert found.stderr == (f"barnabas: --command-config: {path}: {missing}\n" if status else "")
        assert ("orders" in found.stdout) is (status == 0)

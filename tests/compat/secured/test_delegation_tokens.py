"""Kafka's own tool makes, shows, renews and expires delegation tokens; Java's client and ours log in with them."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.client.admin.topics import create_topic, describe_topics
from barnabas.client.client import Client
from barnabas.client.errors import AuthenticationFailed
from barnabas.client.security.properties import security_of
from tests.compat.tools import CONSUMER, PRODUCER, Said, Tools
from tests.support.security.secured import SASL_PLAINTEXT, SecuredBroker, SecuredKafka, password_of
from tests.support.waiting import until

TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
SETTINGS = {"delegation.token.secret.key": "key-of-a-test"}
USERS = ("alice", "bob", "carol")
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
REFUSED = "invalid credentials with SASL mechanism"


class Token(NamedTuple):
    """As the tool prints it."""

    token_id: str
    password: str


def properties(mechanism: str, module: str, login: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{module} required {login};",
    }


def of_user(user: str) -> dict[str, str]:
    return properties("PLAIN", PLAIN, f'username="{user}" password="{password_of(user)}"')


def of_token(token: Token, mechanism: str = "SCRAM-SHA-256") -> dict[str, str]:
    return properties(mechanism, SCRAM, f'username="{token.token_id}" password="{token.password}" tokenauth="true"')


class Site:
    """A server whose users have passwords for PLAIN, and what its clients are set to."""

    def __init__(self, address: str, directory: Path, tools: Tools) -> None:
        self.address = address
        self._directory = directory
        self._tools = tools

    def file(self, login: dict[str, str]) -> str:
        path = self._directory / "client.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in login.items()))
        return str(path)

    def tool(self, login: dict[str, str], *arguments: str) -> Said:
        place = ("--bootstrap-server", self.address, "--command-config", self.file(login))
        return self._tools.run(TOKENS, *place, *arguments)

    def make(self, user: str, *arguments: str) -> Token:
        said = self.tool(of_user(user), "--create", "--max-life-time-period", "-1", *arguments)
        assert said.status == 0, said
        token = made(said)
        until(lambda: token.token_id in self.shown(user))  # Kafka's brokers learn of it later
        return token

    def shown(self, user: str) -> str:
        """The tokens that are the user's to renew. Without a name Kafka's tool asks for those of nobody."""
        return self.tool(of_user(user), "--describe", "--owner-principal", f"User:{user}").out

    def client(self, login: dict[str, str]) -> Client:
        return Client(self.address, security=security_of(login), timeout_ms=20_000)


def made(said: Said) -> Token:
    """The one that was printed last, under the headings."""
    token_id, password, *_ = said.out.strip().splitlines()[-1].split()
    return Token(token_id, password)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tools: Tools) -> Iterator[Site]:
    kind = SecuredKafka if request.config.getoption("--against") == "kafka" else SecuredBroker
    directory = tmp_path_factory.mktemp("tokens")
    with kind(directory / "data", SETTINGS, users=USERS, has_authorizer=False) as server:
        yield Site(f"127.0.0.1:{server.ports[SASL_PLAINTEXT]}", directory, tools)


def test_a_token_is_shown_to_who_may_renew_it(site: Site) -> None:
    token = site.make("alice", "--renewer-principal", "User:bob")
    told = site.shown("bob")
    line = next(line for line in told.splitlines() if line.startswith(token.token_id))
    assert line.split()[1:5] == [token.password, "User:alice", "User:alice", "[User:bob]"]
    assert "Total number of tokens : 0" in site.tool(of_user("bob"), "--describe", "--owner-principal", "User:eve").out


def test_a_token_is_renewed_and_taken_back(site: Site) -> None:
    token = site.make("alice", "--renewer-principal", "User:bob")
    renewal = ("--renew", "--renew-time-period", "60000", "--hmac", token.password)
    assert "Completed renew operation." in site.tool(of_user("bob"), *renewal).out
    refused = site.tool(of_user("carol"), *renewal)
    assert (refused.status, "DelegationTokenOwnerMismatchException" in refused.err) == (1, True), refused
    end = ("--expire", "--expiry-time-period", "-1", "--hmac", token.password)
    assert "Completed expire operation." in site.tool(of_user("alice"), *end).out

    def is_unknown() -> bool:
        return "DelegationTokenNotFoundException" in site.tool(of_user("alice"), *end).err

    until(is_unknown)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_java_client_logs_in_with_a_token(site: Site, tools: Tools, mechanism: str) -> None:
    token = site.make("alice")
    topic = f"by-{mechanism.lower()}"
    with site.client(of_token(token, mechanism)) as own:
        create_topic(own, topic)
        until(lambda: describe_topics(own, [topic])[0].partitions)
    place, file = ("--bootstrap-server", site.address, "--topic", topic), site.file(of_token(token, mechanism))
    written = tools.run(PRODUCER, *place, "--command-config", file, stdin="one castle\n")
    assert written.status == 0, written
    read = tools.run(CONSUMER, *place, "--command-config", file, "--from-beginning", "--max-messages", "1")
    assert (read.status, read.out.strip()) == (0, "one castle"), read


def test_who_logged_in_with_a_token_may_not_make_another(site: Site) -> None:
    said = site.tool(of_token(site.make("alice")), "--create", "--max-life-time-period", "-1")
    assert (said.status, "DelegationTokenDisabled" in said.err) == (1, False), said
    assert "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels" in said.err


def test_a_token_that_was_taken_back_and_a_wrong_password_let_nobody_in(site: Site) -> None:
    token = site.make("alice")
    with pytest.raises(AuthenticationFailed, match=REFUSED), site.client(of_token(token._replace(password="x"))) as own:
        describe_topics(own, ["any"])
    site.tool(of_user("alice"), "--expire", "--expiry-time-period", "-1", "--hmac", token.password)
    until(lambda: token.token_id not in site.shown("alice"))
    with pytest.raises(AuthenticationFailed, match=REFUSED), site.client(of_token(token)) as own:
        describe_topics(own, ["any"])

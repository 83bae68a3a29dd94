"""Kafka's own tools for ACLs, users and quotas, and `barnabas acls`, over SASL_SSL as a super user."""

from collections.abc import Callable, Iterator

import pytest

from barnabas.broker.cli import main
from tests.compat.tools import ACLS, CONFIGS, Tools
from tests.support.security.secured import ADMIN, SASL_SSL, STORE_PASSWORD, secured_kind
from tests.support.waiting import until

Ask = Callable[..., str]


Place = tuple[str, ...]
ROLES = (
    "--producer --topic t",
    "--producer --idempotent --topic p --transactional-id p --resource-pattern-type prefixed",
    "--consumer --topic c --topic d --group c --allow-host 10.0.0.1",
    "--producer --consumer --topic b --group b",
    "--operation All --cluster",
    "--operation TwoPhaseCommit --operation Describe --transactional-id x",
    "--operation DescribeTokens --user-principal User:b",
)


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Flags that lead a tool to the broker as the super user."""
    directory = tmp_path_factory.mktemp("secured")
    with secured_kind(request.config.getoption("--against"))(directory / "data", listeners=(SASL_SSL,)) as server:
        config = directory / "admin.properties"
        trusted = server.security.authority.write_pkcs12(directory / "clients.p12", STORE_PASSWORD)
        properties = server.security.client_properties(ADMIN) | {
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(trusted),
            "ssl.truststore.password": STORE_PASSWORD,
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        yield "--bootstrap-server", f"127.0.0.1:{server.ports[SASL_SSL]}", "--command-config", str(config)


@pytest.fixture(scope="module")
def ask(place: Place, tools: Tools) -> Ask:
    """What a tool prints that is run as the super user."""

    def run(tool: str, *arguments: str) -> str:
        said = tools.run(tool, *place, *arguments)
        assert said.status == 0, said
        return said.out

    return run


def test_acls_are_added_listed_and_removed(ask: Ask) -> None:
    right = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
    added = ask(ACLS, "--add", *right, "--resource-pattern-type", "prefixed")
    assert "Adding ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=PREFIXED)`" in added
    entry = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"
    until(lambda: entry in ask(ACLS, "--list", "--principal", "User:alice"))
    ask(ACLS, "--remove", "--force", *right, "--resource-pattern-type", "prefixed")
    until(lambda: entry not in ask(ACLS, "--list"))


def rights(ask: Ask, user: str) -> set[tuple[str, str]]:
    """The resources and entries of a user, whose name is left out."""
    found: set[tuple[str, str]] = set()
    for of_resource in ask(ACLS, "--list").split("Current ACLs for resource")[1:]:
        resource, *entries = of_resource.split("\n")
        found |= {(resource, entry.replace(user, "")) for entry in entries if f"principal={user}," in entry}
    return found


def test_our_command_makes_and_removes_the_rights_that_kafkas_does(ask: Ask, place: Place) -> None:
    kafkas, ours = "User:of-kafka", "User:of-ours"
    for words in map(str.split, ROLES):
        ask(ACLS, "--add", "--allow-principal", kafkas, *words)
        assert main(["acls", "add", "--allow-principal", ours, *words, *place]) == 0
    until(lambda: rights(ask, kafkas) == rights(ask, ours))
    assert len(rights(ask, kafkas)) > len(ROLES)
    for words in map(str.split, ROLES):
        assert main(["acls", "remove", "--allow-principal", kafkas, *words, *place]) == 0
    until(lambda: not rights(ask, kafkas))


def test_users_of_scram_are_made_and_removed(ask: Ask) -> None:
    user = ("--entity-type", "users", "--entity-name", "bob")
    ask(CONFIGS, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=bob-secret]", *user)
    until(lambda: "SCRAM-SHA-256=iterations=8192" in ask(CONFIGS, "--describe", *user))
    assert "bob-secret" not in ask(CONFIGS, "--describe", *user)
    ask(CONFIGS, "--alter", "--delete-config", "SCRAM-SHA-256", *user)
    until(lambda: "SCRAM" not in ask(CONFIGS, "--describe", *user))


def test_quotas_are_set_and_taken_away(ask: Ask) -> None:
    client = ("--entity-type", "users", "--entity-name", "bob", "--entity-type", "clients", "--entity-default")
    ask(CONFIGS, "--alter", "--add-config", "producer_byte_rate=1024,request_percentage=50", *client)
    until(lambda: "producer_byte_rate=1024.0" in ask(CONFIGS, "--describe", *client))
    ask(CONFIGS, "--alter", "--delete-config", "producer_byte_rate,request_percentage", *client)
    until(lambda: "producer_byte_rate" not in ask(CONFIGS, "--describe", *client))

"""Kafka's AclCommand says and does the same against Barnabas and Apache Kafka 4.4.0.

The tool runs in one JVM, each command against the one broker and then against the other.
"""

from collections.abc import Iterator

import pytest

from tests.compat.tools import Tools
from tests.support.kafka.process import ONE_NODE, KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server
from tests.support.waiting import until

ACLS = "org.apache.kafka.tools.AclCommand"
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
REFUSED = (
    "--add --allow-principal alice --operation Read --topic t",
    "--add --allow-principal User:a --operation Create --group g",
)
COMMANDS = (
    "--list",
    "--add --allow-principal User:ANONYMOUS --operation All --cluster",  # who goes on asking, once there are others
    "--add --allow-principal User:alice --allow-principal User:bob --operation Read --operation Write --topic t",
    "--add --allow-principal User:* --producer --topic p --transactional-id x --idempotent",
    "--add --allow-principal User:* --consumer --topic c --group g",
    "--add --deny-principal User:eve --deny-host 10.0.0.7 --operation All --topic pre --resource-pattern-type prefixed",
    "--add --allow-principal User:ops --operation Alter --cluster",
    "--add --allow-principal User:ops --operation Describe --delegation-token token",
    "--add --allow-principal User:ops --operation CreateTokens --user-principal User:alice",
    "--list",
    "--list --topic t",
    "--list --topic prefixed --resource-pattern-type match",
    "--list --topic pre --resource-pattern-type any",
    "--list --principal User:alice",
    "--remove --force --allow-principal User:bob --operation Write --topic t",
    "--remove --force --deny-principal User:eve --deny-host 10.0.0.7 --operation All --topic pre "
    "--resource-pattern-type prefixed",
    "--list",
    "--remove --force --topic t",
    *REFUSED,
    "--remove --force --topic p --topic c --transactional-id x --group g --cluster",
    "--list",
)


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    tools = Tools()
    yield tools
    tools.close()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    directory = tmp_path_factory.mktemp("acls")
    with (
        KafkaProcess(directory / "kafka" / "data", SETTINGS) as of_kafka,
        BrokerProcess(directory / "barnabas" / "data", SETTINGS | ONE_NODE) as of_barnabas,
    ):
        yield of_kafka, of_barnabas


def said(tools: Tools, server: Server, tool: str, arguments: list[str]) -> list[str]:
    """How the tool ended and what it printed, sorted: the order of ACLs is that of a hash map."""
    told = tools.run(tool, "--bootstrap-server", server.address, *arguments)
    lines = f"{told.out}\n{told.err}".splitlines()
    return [f"status {told.status}", *sorted(filter(None, (line.strip() for line in lines if "\tat " not in line)))]


def test_the_tool_is_told_the_same(tools: Tools, servers: tuple[Server, Server]) -> None:
    of_kafka, of_barnabas = servers
    done = 0
    for words in COMMANDS:
        of_ours = said(tools, of_barnabas, ACLS, words.split())
        of_theirs = said(tools, of_kafka, ACLS, words.split())
        if words.startswith("--list") and of_theirs != of_ours:  # Kafka's broker learns of a change after its answer
            until(lambda words=words, ours=of_ours: said(tools, of_kafka, ACLS, words.split()) == ours)  # type: ignore[misc]  # of defaults
        else:
            assert _without_lists(of_ours) == _without_lists(of_theirs), words
        done += of_ours[0] == "status 0"
    assert done == len(COMMANDS) - len(REFUSED)


def _without_lists(lines: list[str]) -> list[str]:
    """What `--add` and `--remove` list at their end may be what was there before, in Kafka."""
    return [line for line in lines if not line.startswith(("(principal=", "Current ACLs"))]

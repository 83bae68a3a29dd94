"""Kafka's tools by their names: what scripts ask of them, and what is not here says so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.broker.cli.kafka import MISSING, TOOLS, main
from barnabas.broker.cli.kafka.configs import assignments
from tests.support.command_line import Barnabas as Tool
from tests.support.command_line import run_here
from tests.support.processes.own_broker import OwnBroker
from tests.support.source_tree import ROOT
from tests.support.waiting import PATIENCE_S

ALTER = ("kafka-configs", "--alter")


@pytest.fixture
def offline_tool(capsysbinary: pytest.CaptureFixture[bytes]) -> Tool:
    """A tool, run in this process."""
    return run_here(main, capsysbinary)


@pytest.fixture
def tool(broker: OwnBroker, offline_tool: Tool) -> Tool:
    """The same, with --bootstrap-server."""
    return lambda *arguments: offline_tool(*arguments, "--bootstrap-server", broker.address)


def test_a_broker_is_queried_for_its_versions_and_its_cluster(tool: Tool, broker: OwnBroker) -> None:
    node = f"{broker.address} (id: 1 rack: null isFenced: false) -> (\n\tProduce(0): 0 to 13 [usable: 13],"
    assert tool("kafka-broker-api-versions").stdout.startswith(node)
    assert re.fullmatch(r"Cluster ID: [\w-]{22}\n", tool("kafka-cluster", "cluster-id").stdout)


def test_a_broker_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    broker = OwnBroker(tmp_path / "data")
    words = ("kafka-topics", "--create", "--topic", "early", "--bootstrap-server", broker.address)
    command = [sys.executable, "-m", "barnabas.broker.cli.kafka", *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
        assert tool.stderr is not None
        warning = tool.stderr.readline()  # after the first attempt, and before the broker starts
        with broker:
            stdout, more = tool.communicate(timeout=PATIENCE_S)
    assert (tool.returncode, stdout, more) == (0, "Created topic early.\n", "")
    assert re.fullmatch(r"WARN cannot connect to .*: connection refused: trying again for \d+ s\n", warning)


def test_storage_needs_no_formatting(offline_tool: Tool) -> None:
    assert re.fullmatch(r"[\w][\w-]{21}\n", offline_tool("kafka-storage", "random-uuid").stdout)
    assert offline_tool("kafka-storage", "format", "-t", "x", "-c", "/no/file").status == 0
    assert offline_tool("kafka-storage", "info").status == 1


@pytest.mark.parametrize("name", [*MISSING, "kafka-unheard-of"])
def test_an_unsupported_tool_is_refused_in_one_line(offline_tool: Tool, name: str) -> None:
    status, stdout, stderr = offline_tool(name, "--help")
    assert (status, stdout, len(stderr.splitlines())) == (1, "", 1)
    assert stderr.startswith(f"barnabas: {name} is not available here: ")


@pytest.mark.parametrize(
    "words",
    [
        ("kafka-console-producer", "--topic", "t", "--line-reader", "org.example.Reader"),
        ("kafka-console-consumer", "--topic", "t", "--formatter", "org.example.Formatter"),
        ("kafka-server-start", "-daemon", "server.properties"),
        ("kafka-cluster", "unregister"),
        ("kafka-cluster", "unregister-everything"),
        ("kafka-acls", "--list", "--add"),
        ("kafka-metadata-quorum", "add-controller"),
        (*ALTER, "--entity-type", "topics", "--entity-name", "t", "--add-config", "a=b,hunter2"),
        (*ALTER, "--entity-type", "users", "--entity-name", "u", "--add-config", "SCRAM-SHA-512=[pass=hunter2]"),
        (*ALTER, "--entity-type", "users", "--entity-name", "u", "--add-config", "producer_byte_rate=hunter2"),
    ],
)
def test_an_impossible_command_is_refused_in_one_line(tool: Tool, words: tuple[str, ...]) -> None:
    status, stdout, stderr = tool(*words)
    assert (status, stdout, len(stderr.splitlines())) == (1, "", 1)
    assert "hunter2" not in stderr, "what is not understood may be a password"


@pytest.mark.parametrize(
    ("words", "flag"),
    [("kafka-topics --list", "--command-config"), ("kafka-console-consumer --topic t", "--consumer.config")],
)
def test_client_settings_are_those_of_the_command(offline_tool: Tool, tmp_path: Path, words: str, flag: str) -> None:
    settings = tmp_path / "client.properties"
    settings.write_text("# ours\nsecurity.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\n")
    refused = offline_tool(*words.split(), "--bootstrap-server", "x:1", flag, str(settings))
    assert (refused.status, len(refused.stderr.splitlines())) == (1, 1)
    assert f"--command-config: {settings}: sasl.mechanism is 'GSSAPI': set it to one of" in refused.stderr


def test_security_in_the_command_line_itself_is_refused(offline_tool: Tool) -> None:
    words = ("kafka-console-consumer", "--topic", "t", "--bootstrap-server", "x:1")
    expected = "kafka-console-consumer: put sasl.jaas.config into a file, and name it with --command-config\n"
    assert offline_tool(*words, "--consumer-property", "sasl.jaas.config=s3cr3t") == (1, "", expected)


def test_assignments_may_have_commas_in_brackets() -> None:
    assert assignments("a=1,b=[x,y],c=") == {"a": "1", "b": "x,y", "c": ""}


def test_every_tool_is_reported_in_the_document_of_the_container() -> None:
    told = (ROOT / "docs" / "container.md").read_text(encoding="utf-8")
    assert [name for name in TOOLS if name.startswith("kafka") and f"`{name}.sh" not in told] == []
    assert [name for name in MISSING if f"`{name}`" not in told] == []

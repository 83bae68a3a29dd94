"""`barnabas quotas`, and kafka-configs for quotas, on a broker in a process; docs/security/quotas.md as written."""

import json
import re
from collections.abc import Iterator

import pytest

from barnabas.broker.cli import main
from barnabas.broker.cli.kafka.configs import kafka_configs
from tests.support.processes.broker import BrokerProcess
from tests.support.source_tree import ROOT

PAGE = ROOT / "docs" / "security" / "quotas.md"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("quotas") / "data") as broker:
        yield broker


def test_the_page_says_what_the_commands_say(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    told = re.findall(r"^\$ barnabas (.*)\n((?:(?!\$|```).*\n)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(told) == 3
    for command, said in told:
        assert main([*command.split(), "--bootstrap-server", broker.address]) == 0
        assert capsys.readouterr().out == said, command


def test_quotas_are_set_for_whomever_and_listed(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    to = ("--bootstrap-server", broker.address)
    for whose in (["--user", "a", "--client-defaults"], ["--user-defaults"], ["--client", "c"]):
        assert main(["quotas", "alter", *whose, "--set", "request_percentage=2.5", *to]) == 0
    assert main(["quotas", "alter", "--ip", "::1", "--set", "connection_creation_rate=1000000", *to]) == 0
    capsys.readouterr()
    assert main(["quotas", "list", "--json", *to]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"entity": {"client-id": None, "user": "a"}, "quotas": {"request_percentage": 2.5}},
        {"entity": {"user": None}, "quotas": {"request_percentage": 2.5}},
        {"entity": {"client-id": "c"}, "quotas": {"request_percentage": 2.5}},
        {"entity": {"ip": "::1"}, "quotas": {"connection_creation_rate": 1000000.0}},
    ]
    assert main(["quotas", "list", "--client", "c", *to]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["client-id c  request_percentage  2.5"]
    for whose in (["--user", "a", "--client-defaults"], ["--user-defaults"], ["--client", "c"]):
        assert main(["quotas", "alter", *whose, "--delete", "request_percentage", *to]) == 0
    assert main(["quotas", "alter", "--ip", "::1", "--delete", "connection_creation_rate", "--json", *to]) == 0
    capsys.readouterr()
    assert main(["quotas", "list", *to]) == 0
    assert capsys.readouterr().out == ""


def test_kafkas_tool_sets_them_too(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    to = ("--bootstrap-server", broker.address)
    whose = ("--entity-type", "clients", "--entity-name", "k")
    assert kafka_configs(["--alter", *whose, "--add-config", "producer_byte_rate=5,consumer_byte_rate=6", *to]) == 0
    capsys.readouterr()
    assert kafka_configs(["--describe", *whose, *to]) == 0
    described = "Quota configs for client-id 'k' are consumer_byte_rate=6.0, producer_byte_rate=5.0\n"
    assert capsys.readouterr().out == described
    assert (
        kafka_configs(["--alter", "--client", "k", "--delete-config", "producer_byte_rate,consumer_byte_rate", *to])
        == 0
    )
    assert kafka_configs(["--describe", "--entity-type", "clients", *to]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["alter", "--client", "c"], "quotas alter: nothing to do, give --set or --delete"),
        (["alter", "--set", "producer_byte_rate=1"], "quotas alter: whose? Give --user"),
        (["alter", "--client", "c", "--set", "producer_byte_rate=much"], "not a number"),
        (["alter", "--client", "c", "--set", "bytes=1"], "Invalid configuration key bytes"),
        (["alter", "--client", "c", "--client-defaults"], "not allowed with argument"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    broker: BrokerProcess, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["quotas", *arguments, "--bootstrap-server", broker.address]) != 0
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1

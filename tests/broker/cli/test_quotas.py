"""`barnabas quotas` on a broker in a process; docs/security/quotas.md as written."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.support.command_line import Barnabas
from tests.support.processes.own_broker import OwnBroker
from tests.support.source_tree import ROOT

PAGE = ROOT / "docs" / "security" / "quotas.md"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnBroker]:
    with OwnBroker(tmp_path_factory.mktemp("quotas") / "data") as broker:
        yield broker


def test_the_page_states_what_the_commands_say(barnabas: Barnabas) -> None:
    told = re.findall(r"^\$ barnabas (.*)\n((?:(?!\$|```).*\n)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(told) == 3
    for command, said in told:
        assert barnabas(*command.split()) == (0, said, "")


def test_quotas_are_set_for_whomever_and_listed(barnabas: Barnabas) -> None:
    whom = (["--user", "a", "--client-defaults"], ["--user-defaults"], ["--client", "c"])
    for whose in whom:
        assert barnabas("quotas", "alter", *whose, "--set", "request_percentage=2.5").status == 0
    assert barnabas("quotas", "alter", "--ip", "::1", "--set", "connection_creation_rate=1000000").status == 0
    assert json.loads(barnabas("quotas", "list", "--json").stdout) == [
        {"entity": {"client-id": None, "user": "a"}, "quotas": {"request_percentage": 2.5}},
        {"entity": {"user": None}, "quotas": {"request_percentage": 2.5}},
        {"entity": {"client-id": "c"}, "quotas": {"request_percentage": 2.5}},
        {"entity": {"ip": "::1"}, "quotas": {"connection_creation_rate": 1000000.0}},
    ]
    listed = barnabas("quotas", "list", "--client", "c").stdout.splitlines()
    assert listed[1:] == ["client-id c  request_percentage  2.5"]
    for whose in whom:
        assert barnabas("quotas", "alter", *whose, "--delete", "request_percentage").status == 0
    assert barnabas("quotas", "alter", "--ip", "::1", "--delete", "connection_creation_rate", "--json").status == 0
    assert barnabas("quotas", "list") == (0, "", "")


def test_a_quota_that_there_is_not_is_refused_in_one_line(barnabas: Barnabas) -> None:
    status, _, error = barnabas("quotas", "alter", "--client", "c", "--set", "bytes=1")
    assert (status, error.count("\n"), "Invalid configuration key bytes" in error) == (1, 1, True), error

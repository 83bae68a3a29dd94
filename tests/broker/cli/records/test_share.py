"""`barnabas consume --share` and the settings of groups, against a running broker."""

import json

import pytest

from barnabas import Barnabas as Broker
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from tests.support.command_line import Barnabas

WAIT = ("--timeout-ms", "20000", "--max-messages")


@pytest.fixture
def name(queue_broker: Broker, cli: Barnabas, request: pytest.FixtureRequest) -> str:
    """A topic of four records in one partition, and a group that begins with the first."""
    name: str = request.node.name
    queue_broker.create_topic(name, 1)
    with Client(queue_broker.bootstrap_servers) as client, Producer(client) as producer:
        for number in range(4):
            producer.send(name, b"job %d" % number)
    changed = cli("configs", "alter", "--group", name, "--set", "share.auto.offset.reset=earliest")
    assert changed == (0, "changed 1 config(s)\n", "")
    return name


def test_the_settings_of_a_group_are_described(cli: Barnabas, name: str) -> None:
    found = cli("configs", "describe", "--group", name).stdout.splitlines()
    assert [row.split() for row in found] == [
        ["config", "value", "source"],
        ["share.auto.offset.reset", "earliest", "group"],
    ]


def test_printed_records_are_accepted(cli: Barnabas, name: str) -> None:
    words = ("consume", name, "--share", name, "--print-delivery", "--print-offset", *WAIT)
    assert cli(*words, "3") == (0, "0\t1\tjob 0\n1\t1\tjob 1\n2\t1\tjob 2\n", "")
    assert cli(*words, "1") == (0, "3\t1\tjob 3\n", "")


def test_released_records_come_again_and_rejected_ones_do_not(cli: Barnabas, name: str) -> None:
    words = ("consume", name, "--share", name, "--json", *WAIT)

    def seen(kind: str, count: str) -> list[tuple[str, int]]:
        lines = cli(*words, count, "--acknowledge", kind).stdout.splitlines()
        return [(each["value"], each["delivery_count"]) for each in map(json.loads, lines)]

    assert seen("release", "2") == [("job 0", 1), ("job 1", 1)]
    assert seen("reject", "2") == [("job 0", 2), ("job 1", 2)]
    assert seen("accept", "2") == [("job 2", 1), ("job 3", 1)]


def test_a_record_whose_lock_has_ended_is_named(
    queue_broker: Broker, cli: Barnabas, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from barnabas.broker.cli.records import consume

    json_line = consume._json_line

    def slow_line(decoder: None, record: consume.PrintedRecord) -> bytes:
        queue_broker.clock.advance("31s")
        return json_line(decoder, record)

    monkeypatch.setattr(consume, "_json_line", slow_line)
    outcome = cli("consume", name, "--share", name, "--json", *WAIT, "1")
    assert (outcome.status, len(outcome.stdout.splitlines())) == (0, 1)
    assert outcome.stderr.startswith(f"barnabas: {name}-0: records may be delivered again: INVALID_RECORD_STATE")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--acknowledge accept", "--acknowledge needs --share"),
        ("--print-delivery", "--print-delivery needs --share"),
        ("--share g --group g", "omit --group with --share"),
        ("--share g --partition 0", "omit --partition with --share"),
        ("--share g --exit-at-end", "omit --exit-at-end with --share"),
        ("--share g --from-beginning", "it is a setting of the group, share.auto.offset.reset=earliest"),
        ("--share g --offset earliest", "it is a setting of the group, share.auto.offset.reset"),
        ("--share g --isolation read_committed", "it is a setting of the group, share.isolation.level"),
        ("--share g --acknowledge renew", "invalid choice: 'renew'"),
    ],
)
def test_options_that_do_not_fit_are_refused(offline: Barnabas, words: str, message: str) -> None:
    outcome = offline("consume", "t", *words.split())
    assert outcome.status == 2
    assert message in outcome.stderr

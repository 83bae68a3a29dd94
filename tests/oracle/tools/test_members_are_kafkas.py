"""Of groups with members our tools for groups say what Kafka's do, about the same broker."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.cli.kafka import main
from barnabas.client.admin.newer_groups import describe_share_group
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.consume.membership import GroupProtocol
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.client.offsets import commit_offsets
from barnabas.client.produce.producer import Producer
from tests.compat.tools import GROUPS, SHARE_GROUPS, STREAMS_GROUPS, Tools
from tests.support.clients.heartbeats import StreamsMember
from tests.support.command_line import run_here
from tests.support.kafka.tool_pages import SETTINGS, tidied
from tests.support.processes.own_broker import OwnBroker

ASKED = [
    "--list --state --type",
    "--describe --group readers",
    "--describe --group readers --offsets --verbose",
    "--describe --group readers --members",
    "--describe --group readers --members --verbose",
    "--describe --group readers --state",
    "--describe --group readers --state --verbose",
    "--reset-offsets --group readers --topic orders --to-earliest --execute",
    "--delete-offsets --group readers --topic orders",
    "--delete --group readers",
]


NOWHERE = Path("/nowhere")
OF_SHARE_GROUPS = [
    "--list --state",
    "--describe --group workers",
    "--describe --group workers --members",
    "--describe --group workers --members --verbose",
    "--describe --group workers --state --verbose",
    "--reset-offsets --group workers --topic jobs --to-earliest --execute",
    "--delete-offsets --group workers --topic jobs",
    "--delete --group workers",
]


OF_STREAMS_GROUPS = [
    "--describe",
    "--describe --offsets --verbose",
    "--describe --members",
    "--describe --members --verbose",
    "--describe --state",
    "--describe --state --verbose",
    "--describe --topology",
    "--reset-offsets --input-topic lines --to-earliest --execute",
    "--delete-offsets --input-topic lines",
    "--delete-offsets --all-input-topics",
    "--delete",
]
_RESET = "--reset-offsets --input-topic lines"
OF_EMPTY_STREAMS_GROUPS = [
    "--describe",
    "--describe --members",
    "--describe --state --verbose",
    f"{_RESET} --to-latest --dry-run",
    f"{_RESET}:0 --to-offset 99 --dry-run",
    f"{_RESET}:0 --shift-by -1 --execute",
    "--reset-offsets --all-input-topics --to-current --dry-run --export",
    "--reset-offsets --all-input-topics --to-latest --execute",
    f"{_RESET}:0 --to-datetime 2020-01-01T00:00:00.000 --execute",
    f"{_RESET}:0 --by-duration P1D --dry-run",
    "--reset-offsets --input-topic other --to-latest --execute",
    "--delete-offsets --input-topic lines:1 --input-topic other --input-topic absent",
    "--delete-offsets --all-input-topics",
    f"{_RESET}:0 --to-latest --execute --delete-internal-topic absent",
    "--reset-offsets --all-input-topics --to-latest --execute --delete-all-internal-topics",
    "--delete --delete-all-internal-topics",
    "--delete",
]


@contextmanager
def reader(client: Client, protocol: GroupProtocol) -> Iterator[None]:
    """A member that has read what there is, and committed it; it stays for a session without a heartbeat."""
    create_topic(client, "orders", partitions=2)
    producer = Producer(client)
    for partition in range(2):
        producer.send("orders", b"x", partition=partition)
    producer.flush()
    with GroupConsumer(client, "readers", ["orders"], protocol=protocol, auto_offset_reset="earliest") as member:
        read = 0
        while read < 2:
            read += len(member.poll())
        member.commit()
        yield


@pytest.mark.parametrize(
    "protocol",
    [
        ClassicProtocol(),
        ClassicProtocol(instance_id="the-first-of-all-the-readers"),
        ConsumerProtocol(),
        ConsumerProtocol(instance_id="one"),
    ],
    ids=["classic", "classic static", "consumer", "consumer static"],
)
def test_members_are_told_of_as_by_kafkas_tool(
    protocol: GroupProtocol, tools: Tools, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    ours = run_here(main, capsysbinary)
    with OwnBroker(tmp_path / "data", SETTINGS) as broker, Client(broker.address) as client, reader(client, protocol):
        for words in ASKED:
            arguments = ("--bootstrap-server", broker.address, *words.split())
            check_alike(tools.run(GROUPS, *arguments), ours("kafka-consumer-groups", *arguments), broker.address, words)


def test_members_of_share_groups_are_told_of_as_by_kafkas_tool(
    tools: Tools, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    ours = run_here(main, capsysbinary)
    with OwnBroker(tmp_path / "data", SETTINGS) as broker, Client(broker.address) as client:
        create_topic(client, "jobs", partitions=2)
        with ShareConsumer(client, "workers", ["jobs"]) as member:
            member.poll(100, 1)
            while not any(each.assignment for each in describe_share_group(client, "workers").members):
                member.poll(100, 1)
            for words in OF_SHARE_GROUPS:
                arguments = ("--bootstrap-server", broker.address, *words.split())
                theirs = tools.run(SHARE_GROUPS, *arguments)
                check_alike(theirs, ours("kafka-share-groups", *arguments), broker.address, words)


def test_streams_groups_are_told_of_and_changed_as_by_kafkas_tool(
    tools: Tools, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Each tool has a group of its own, `app` and `our`."""
    ours = run_here(main, capsysbinary)
    settings = SETTINGS | {"group.streams.initial.rebalance.delay.ms": 0}
    with OwnBroker(tmp_path / "data", settings) as broker, Client(broker.address) as client:

        def check(words: str) -> None:
            arguments = ("--bootstrap-server", broker.address, *words.split())
            theirs = tools.run(STREAMS_GROUPS, *arguments, "--group", "app")
            status, *texts = ours("kafka-streams-groups", *arguments, "--group", "our")
            out, err = (text.replace("our", "app") for text in texts)
            check_alike(theirs, (status, out, err), broker.address, words)

        create_topic(client, "lines", partitions=2)
        create_topic(client, "other")
        producer = Producer(client)
        for number in range(5):
            producer.send("lines", b"a word", partition=number % 2)
        producer.flush()
        members = [StreamsMember(client, group) for group in ("app", "our")]
        for words in OF_STREAMS_GROUPS:
            check(words)
        for group, member in zip(("app", "our"), members, strict=True):
            commit_offsets(client, group, {("lines", 0): 2}, generation_id=member.epoch, member_id="m")
        check("--describe --verbose")
        for member in members:
            member.leave()
        for words in OF_EMPTY_STREAMS_GROUPS:
            check(words)


def check_alike(theirs: Any, ours: tuple[int, str, str], address: str, words: str) -> None:
    """Check that both have printed the same lines, and have the same status."""
    expected = [sorted(tidied(text, address, NOWHERE)) for text in (theirs.out, theirs.err)]
    assert [sorted(tidied(text, address, NOWHERE)) for text in ours[1:]] == expected, words
    assert ours[0] == theirs.status, words

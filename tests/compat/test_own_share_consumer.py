"""Our own client in share groups (KIP-932), and what `barnabas groups` reports of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.cli import main
from barnabas.client.admin.share_offsets import share_offsets
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.consumer import Consumer
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from tests.support.clients.committed import begun
from tests.support.clients.queues import new_queue, offsets_and_deliveries, read_at_once, set_of_group
from tests.support.processes.server import Server

GAP, ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
WAIT_MS = 30_000


@pytest.fixture
def name(request: pytest.FixtureRequest, client: Client) -> str:
    """A topic of ten records in its only partition, and a group that begins with the first."""
    return new_queue(client, request.node.name)


@pytest.fixture
def reported(server: Server, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The answer of `barnabas groups`, decoded from JSON."""

    def run(*words: str) -> Any:
        status = main(["groups", *words, "--json", "--bootstrap-server", server.address])
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        return json.loads(out)

    return run


def test_records_are_accepted_released_rejected_and_renewed(client: Client, name: str) -> None:
    with ShareConsumer(client, name, [name], explicit=True) as member:
        records = read_at_once(member, 10)
        assert offsets_and_deliveries(records) == [(offset, 1) for offset in range(10)]
        for record, kind in zip(records, [ACCEPT] * 5 + [RELEASE, REJECT] + [RENEW] * 3, strict=True):
            member.acknowledge(record, kind)
        (again,) = read_at_once(member, 1)
        assert offsets_and_deliveries([again]) == [(5, 2)]
        member.acknowledge(again)
        for record in records[7:]:
            member.acknowledge(record)
        assert member.commit() == {}
        assert member.poll(0) == []
    assert share_offsets(client, name)[name, 0].lag == 0


def test_what_a_closed_member_did_not_accept_comes_again(client: Client, name: str) -> None:
    with ShareConsumer(client, name, [name]) as member:
        read_at_once(member, 4)
        read_at_once(member, 3)
    with ShareConsumer(client, name, [name]) as member:
        assert offsets_and_deliveries(read_at_once(member, 6)) == [(4, 2), (5, 2), (6, 2), (7, 1), (8, 1), (9, 1)]
        assert member.commit() == {}


def test_markers_and_aborted_records_are_no_records(client: Client, name: str) -> None:
    set_of_group(client, name, {"share.isolation.level": "read_committed"})
    begun(client, f"{name}-1", b"aborted", topic=name).abort()
    begun(client, f"{name}-2", b"ten", topic=name).commit()
    with ShareConsumer(client, name, [name]) as member:
        values = [each.record.value for _ in range(3) for each in member.poll(5000)]
        assert values == [b"%d" % number for number in range(10)] + [b"ten"]
        assert member.commit() == {}


def test_a_marker_is_copied_with_the_records_beside_it_that_no_member_acknowledged(
    server: Server, client: Client, name: str
) -> None:
    queue = f"dlq.{name}"
    create_topic(client, queue, partitions=1, configs={"errors.deadletterqueue.group.enable": "true"})
    settings = {
        "share.delivery.count.limit": "2",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    set_of_group(client, name, settings)
    begun(client, f"{name}-1", b"ten", topic=name).commit()
    for delivery in (1, 2):
        with Client(server.address) as dying:  # no member leaves: what they hold is released with their connections
            records = ShareConsumer(dying, name, [name], explicit=True).poll(WAIT_MS)
            assert offsets_and_deliveries(records) == [(offset, delivery) for offset in range(11)]
    consumer = Consumer(client)
    consumer.assign({(queue, 0): 0})
    letters = [each.record for each in consumer.poll(WAIT_MS)]
    while len(letters) < 12:
        letters += [each.record for each in consumer.poll(WAIT_MS)]
    assert [each.value for each in letters[:11]] == [b"%d" % number for number in range(10)] + [b"ten"]
    assert (letters[11].key, letters[11].value) == (b"\0\0\0\1", bytes(6))


def test_a_group_is_reported_reset_and_deleted(client: Client, name: str, reported: Callable[..., Any]) -> None:
    with ShareConsumer(client, name, [name], member_id="reader") as member:
        read_at_once(member, 3)
        assert member.commit() == {}
        (group,) = reported("describe", name)
        (shown,) = reported("offsets", name)["offsets"]
    assert (group["type"], group["state"], group["protocol"]) == ("share", "Stable", "simple")
    assert [(each["member_id"], each["assignment"]) for each in group["members"]] == [("reader", {name: [0]})]
    assert (shown["lag"], shown["members"]) == (7, ["reader"])
    listed = {each["group"]: each["state"] for each in reported("list", "--type", "share")}
    assert listed[name] == "Empty"
    (moved,) = reported("reset", name, "--all-topics", "--to-offset", "8", "--execute")["offsets"]
    assert moved["new_offset"] == 8
    with ShareConsumer(client, name, [name]) as member:
        assert offsets_and_deliveries(read_at_once(member, 2)) == [(8, 1), (9, 1)]
    assert reported("delete", name, "--topic", name)["topics"] == [name]
    assert reported("offsets", name)["offsets"] == []
    assert reported("delete", name)["deleted"]
    assert name not in {each["group"] for each in reported("list")}

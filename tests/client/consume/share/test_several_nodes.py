"""A share consumer while leaders and coordinators move: every record is accepted, and none that was accepted again."""

from collections.abc import Iterator

import pytest

from barnabas import Barnabas
from barnabas.client.admin.share_offsets import share_offsets
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from tests.support.clients.queues import FROM_THE_FIRST, send_numbers, set_of_group

WAIT_MS = 20_000
PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[Barnabas]:
    config: dict[str, object] = {"default.replication.factor": 3}
    for internal in ("offsets.topic", "share.coordinator.state.topic"):
        config |= {f"{internal}.num.partitions": 1, f"{internal}.replication.factor": 3}
    with Barnabas(config=config, brokers=3, in_process=True) as running:
        yield running


def accepted(member: ShareConsumer, count: int) -> list[int]:
    """The values of so many records, accepted; a refused acknowledgement would bring its records again."""
    values: list[int] = []
    while len(values) < count:
        records = member.poll(WAIT_MS)
        assert records, "nothing more came"
        refused = member.commit()
        values += [int(each.record.value or b"") for each in records if (each.topic, each.partition) not in refused]
    return sorted(values)


def test_the_lag_is_known_wherever_partitions_are_led(cluster: Barnabas) -> None:
    cluster.create_topic("lags", PARTITIONS)
    for number in range(PARTITIONS):
        cluster.move_leader("lags", number, number + 1)
    with Client(cluster.bootstrap_servers, timeout_ms=WAIT_MS) as client:
        set_of_group(client, "lags", FROM_THE_FIRST)
        send_numbers(client, "lags", range(9), PARTITIONS)
        with ShareConsumer(client, "lags", ["lags"]) as member:
            accepted(member, 9)
        send_numbers(client, "lags", range(9), PARTITIONS)
        assert [each.lag for each in share_offsets(client, "lags").values()] == [3, 3, 3]


@pytest.mark.parametrize("what", ["leaders", "coordinator", "a node"])
def test_records_are_accepted_once_when_something_moves(cluster: Barnabas, what: str) -> None:
    topic = what.replace(" ", "-")
    cluster.create_topic(topic, PARTITIONS)
    with Client(cluster.bootstrap_servers, timeout_ms=WAIT_MS) as client:
        set_of_group(client, topic, FROM_THE_FIRST)
        send_numbers(client, topic, range(9), PARTITIONS)
        with ShareConsumer(client, topic, [topic]) as member:
            assert accepted(member, 9) == [*range(9)]
            if what == "leaders":
                for number in range(PARTITIONS):
                    cluster.move_leader(topic, number, cluster.leader(topic, number) % 3 + 1)
            elif what == "coordinator":
                for internal in ("__consumer_offsets", "__share_group_state"):
                    cluster.move_leader(internal, 0, cluster.leader(internal) % 3 + 1)
            else:
                cluster.stop_node(2)
            send_numbers(client, topic, range(9, 18), PARTITIONS)
            assert accepted(member, 9) == [*range(9, 18)]
            assert member.poll(0) == []

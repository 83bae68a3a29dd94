"""Metrics of a broker that is several nodes: of the nodes, of what they lead, and of every node's groups."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.http.metrics.scrape import scrape
from barnabas.broker.http.metrics.sources import Sources
from barnabas.broker.server.broker import RUNNING
from tests.broker.metadata.cluster.test_moving import switch
from tests.broker.metadata.cluster.test_three_nodes import ask, coordinator_of, create
from tests.support.requests import commit, init_producer
from tests.support.worlds.broker import BrokerWorld

SMALL = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}


async def scraped(world: BrokerWorld) -> dict[tuple[str, str], float]:
    """The values by name and the first label."""
    text = await scrape(Sources(world.services, Meter(lambda: 0), lambda: {1: 5, 2: 7}, lambda: RUNNING))
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def by_node(found: dict[tuple[str, str], float], name: str) -> list[Any]:
    return [found[f"barnabas_node_{name}", str(node)] for node in (1, 2, 3)]


async def test_nodes_have_series_of_their_own_and_the_sums_count_all() -> None:
    world = BrokerWorld(nodes=3)
    await create(world, "t", assignments=[[1, 2], [2, 3], [3, 2], [3, 1]])
    await create(world, "alone", assignments=[[3]])
    found = await scraped(world)
    assert by_node(found, "running") == [1, 1, 1]
    assert by_node(found, "leaders") == [1, 1, 3]
    assert by_node(found, "replicas") == [2, 3, 4]
    assert by_node(found, "connections") == [5, 7, 0]
    assert found["kafka_server_socket_server_metrics_connection_count", ""] == 12
    assert found["kafka_brokers", ""] == 3
    assert found["kafka_server_replicamanager_underreplicatedpartitions", ""] == 0
    await switch(world, 3, "true")
    found = await scraped(world)
    assert by_node(found, "running") == [1, 1, 0]
    assert by_node(found, "leaders") == [2, 2, 0]
    assert found["kafka_brokers", ""] == 2
    assert found["kafka_server_replicamanager_underreplicatedpartitions", ""] == 3
    assert found["kafka_controller_kafkacontroller_offlinepartitionscount", ""] == 1


async def test_groups_and_transactions_of_every_node_are_counted() -> None:
    world = BrokerWorld(SMALL, nodes=3)
    await create(world, "t", assignments=[[1]])
    names = [f"id-{number}" for number in range(3)]
    nodes = set()
    for name in names:
        coordinator = (await coordinator_of(world, name, 0)).node_id
        nodes.add(coordinator)
        answer = await ask(world, coordinator, commit(name, 0), 8)
        assert answer.topics[0].partitions[0].error_code == 0
        coordinator = (await coordinator_of(world, name, 1)).node_id
        assert (await ask(world, coordinator, init_producer(name))).error_code == 0
    assert nodes == {1, 2, 3}
    found = await scraped(world)
    assert [found["kafka_consumergroup_current_offset", name] for name in names] == [0, 0, 0]
    assert found["barnabas_transactions", "Empty"] == 3

"""The catalogue's topics as consumer groups look at them: Kafka's hash has the racks of every partition's replicas."""

from barnabas.broker.coordinator.group.catalogue_topics import CatalogueTopics, all_in
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import topic_hash
from tests.broker.metadata.cluster.test_three_nodes import create
from tests.support.worlds.broker import BrokerWorld


async def test_the_hash_has_the_rack_of_the_one_node() -> None:
    world = BrokerWorld({"broker.rack": "a,b"})
    catalogue = world.services.catalogue
    topic = catalogue.create_topic("t", 2)
    for rack, racks in (("a,b", ["a,b"]), (None, [])):
        assert CatalogueTopics(catalogue, all_in(rack)).hash("t") == topic_hash("t", topic.topic_id, [racks, racks])


async def test_the_hash_has_the_racks_of_the_replicas_of_several_nodes() -> None:
    world = BrokerWorld({"broker.rack": "a,,c"}, nodes=3)
    await create(world, "t", assignments=[[1, 2], [2, 3], [3, 1]])
    catalogue, together = world.services.catalogue, world.broker.shared_storage
    assert together is not None
    expected = topic_hash("t", catalogue.topics["t"].topic_id, [["a"], ["c"], ["a", "c"]])
    for node in together.of_node.values():
        assert node.groups.consumer.context.topics.hash("t") == expected

"""A node of a process: its start after a stop."""

from tests.support.worlds.broker import BrokerWorld


async def test_a_stopped_node_that_starts_again_is_notified_once_of_what_is_switched() -> None:
    world = BrokerWorld(nodes=2)
    node, events = world.broker.members[1], world.services.events
    before = len(events.when_switched)
    for _ in range(3):
        await node.listen(world.network, None)
        await node.listener.drain(0)
        node.come_back(node.bound)
    assert len(events.when_switched) == before + 1

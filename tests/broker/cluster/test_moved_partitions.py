"""A partition that is moved to another data directory under several nodes: its leader uses it where it is now."""

from barnabas.protocol.errors import ErrorCode as E
from tests.broker.cluster.test_three_nodes import create
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.moves import ask, done


async def test_a_partition_moved_under_several_nodes_is_appended_to_where_it_is_now() -> None:
    world = BrokerWorld({"log.dirs": "/one,/two"}, nodes=3)
    await world.broker.start()
    assert world.broker.together is not None
    await create(world, "t", assignments=[[2, 3, 1]])
    leader = world.broker.together.of_node[2]
    leader.partitions.append("t", 0, bytearray(world.batch(b"before")))
    home = world.services.partitions.directory.home("t", 0)
    assert home is not None
    other = "/two" if home.path == "/one" else "/one"
    assert await ask(world, other) is E.NONE
    await done(world)
    leader.partitions.append("t", 0, bytearray(world.batch(b"after")))
    assert leader.partitions.get_led("t", 0) is leader.partitions.get("t", 0)
    assert leader.partitions.get("t", 0).log_end_offset == 2

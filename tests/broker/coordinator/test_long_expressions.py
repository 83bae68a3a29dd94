"""A regular expression for the names of very many topics: no turn of the loop takes long for it."""

import gc
from time import thread_time

from barnabas.broker.coordinator.runtime.outcome import ResolveTopics
from barnabas.broker.metadata.catalogue import NewTopic
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support.turn_limit import turn_limit_ms
from tests.support.worlds.broker import BrokerWorld, until

MANY = 5_000
TRIES = 3


async def _longest_turn_ms() -> float:
    """Of the resolving, from a group that has not seen the topics yet."""
    world = BrokerWorld()
    peer = world.connect()
    names = ["none"]
    peer.ask(
        ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m" * 22,
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=names,
            subscribed_topic_regex="many-.*",
            topic_partitions=[],
        ),
        1,
    )
    await peer.until_answered()
    await until(lambda: world.services.upkeep.are_over)
    world.services.catalogue.create_topics([NewTopic(f"many-{number}", 1) for number in range(MANY)])
    groups, longest = world.services.groups, 0.0
    (partition,) = (each for each in groups.loaded() if each.machine.group("g") is not None)
    steps = groups.consumer._resolve(partition.index, "g", ResolveTopics(("many-.*",), lambda name: True))
    is_over = False
    while not is_over:
        begun = thread_time()
        is_over = next(steps, steps) is steps
        longest = max(longest, thread_time() - begun)
    group = partition.machine.durable.consumer("g")
    assert group is not None
    assert len(group.regexes["many-.*"].topics) == MANY
    return longest * 1000


async def test_no_expression_holds_the_loop() -> None:
    gc.disable()
    try:
        assert min([await _longest_turn_ms() for _ in range(TRIES)]) < turn_limit_ms()
    finally:
        gc.enable()

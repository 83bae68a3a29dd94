"""A broker over what a killed one left, and the requests that meet it."""

from collections.abc import Sequence
from typing import Any

from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.produce import ProduceRequest
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, Peer


async def killed(*sizes: int) -> BrokerWorld:
    """A broker over what a killed one left: topic `t` with so many batches in each partition."""
    world = BrokerWorld()
    world.services.catalogue.create_topic("t", len(sizes))
    for partition, size in enumerate(sizes):
        for _ in range(size):
            world.services.partitions.append("t", partition, bytearray(world.batch(b"v")))
    world.files.crash("everything")
    return BrokerWorld(files=world.files)


def produce(world: BrokerWorld, *partitions: int, timeout_ms: int = 1_000) -> ProduceRequest:
    topic_id = world.services.catalogue.topics["t"].topic_id
    batches = {index: world.batch(b"new") for index in partitions}
    return requests.produce(batches, topic_id=topic_id, timeout_ms=timeout_ms)


def fetch(world: BrokerWorld, *partitions: int, max_wait_ms: int = 500) -> FetchRequest:
    topic_id = world.services.catalogue.topics["t"].topic_id
    return requests.fetch(*partitions, topic_id=topic_id, wait_ms=max_wait_ms)


def produced(peer: Peer) -> Sequence[Any]:
    return [each for topic in peer.answer().responses for each in topic.partition_responses]


def fetched(peer: Peer) -> Sequence[Any]:
    return [each for topic in peer.answer().responses for each in topic.partitions]

"""Asking what topics there are: Metadata, as all clients do."""

import asyncio

from barnabas.protocol.errors import ErrorCode
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History
from tests.simulation.history.topics import TopicView
from tests.simulation.world.world import World
from tests.support.requests import metadata

_BACKOFF_S = 0.05


async def look(world: World, wire: Wire, history: History, client: str, name: str) -> TopicView:
    """What there is by that name, asked for until it is told; into the history."""
    while True:
        began_us = world.now_us
        try:
            topic = (await wire.ask(metadata(name), 12)).topics[0]
        except Disconnected:
            await asyncio.sleep(_BACKOFF_S)
            continue
        is_there = topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topic_id = bytes(topic.topic_id).hex() if is_there else ""
        view = TopicView(client, name, began_us, world.now_us, topic_id, len(topic.partitions))
        history.views.append(view)
        return view

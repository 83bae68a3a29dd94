"""Starting a broker over its data directory: opened, prepared, its pages over HTTP, and then everybody is let in.

What it is made of is `app.py`'s. A start that fails leaves the directory as a kill does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.app import Broker
from barnabas.broker.config import BrokerConfig
from barnabas.broker.data import open_directory, sockets_max
from barnabas.broker.environment import Environment
from barnabas.broker.net.bound import BoundAddress
from barnabas.broker.own_time import in_its_time
from barnabas.broker.partitions.sync_rounds import SYNC_HELPERS_MAX

if TYPE_CHECKING:
    import socket

    from barnabas.broker.catalogue.topics import NewTopic
    from barnabas.broker.control.admission import Admission
    from barnabas.broker.faults.model import Plan


async def start_broker(
    config: BrokerConfig,
    bound: Sequence[BoundAddress],
    *,
    descriptor_limit: int,
    topics: Iterable[NewTopic] = (),
    features: Mapping[str, int] | None = None,
    http: Sequence[socket.socket] = (),
    control: Admission | None = None,
    faults: Plan | None = None,
    environment: Environment | None = None,
    others: Sequence[Sequence[BoundAddress]] = (),
) -> Broker:
    """A broker over the configuration's directory that accepts connections, on the running loop.

    `topics` are created unless they are there, `features` given their levels, before anybody is let in. `http`: bound
    sockets to tell on how the broker is, from before it can be used until it has stopped. `control`: who may change its
    clock there, which has to be movable, and arm faults. `faults`: armed from the start. `environment`: this machine's
    unless given. `others`: where the other nodes are to be reached. CatalogueError, StorageError and KafkaError say why
    it cannot be; then the directory is as a kill leaves it, and one that is new is gone again.
    """
    environment = environment or Environment()
    directory = open_directory(config, environment.files, environment.random, descriptor_limit)
    try:
        broker = Broker(
            config,
            directory,
            in_its_time(environment, directory.root),
            asyncio.get_running_loop(),
            bound,
            sockets_max=sockets_max(descriptor_limit, 1 + len(others)),
            sync_helpers_max=SYNC_HELPERS_MAX,
            others=others,
        )
        broker.catalogue.set_features(features or {})
        for topic in topics:
            if topic.name not in broker.catalogue.topics:
                broker.catalogue.create_topic(topic.name, topic.num_partitions, topic.configs)
        if faults is not None:
            broker.faults.get().registry.arm(faults)
        if http:
            await broker.open_http(http, control)
    except BaseException:
        directory.give_up()
        raise
    try:
        await broker.start()
    except BaseException:
        directory.close(clean=False)
        raise
    return broker

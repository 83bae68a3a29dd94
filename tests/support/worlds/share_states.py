"""A whole broker with share groups enabled, whose share coordinator is called as other brokers call it."""

import importlib
from asyncio import Future
from typing import Any

from barnabas.broker.api.api_table import API_TABLE
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.image.features import SHARE_VERSION
from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.partitions.share.persister import SharePartitionKey, ShareStateUpdate, StateBatch
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.log_records.catalogue import FeatureLevelRecord
from barnabas.protocol.registry import request_codec, response_codec
from tests.support.worlds.broker import BrokerWorld

STATE_TOPIC = "__share_group_state"
ONE_PARTITION = {"share.coordinator.state.topic.num.partitions": "1"}


def enable_share_groups(catalogue: Catalogue, level: int = 2) -> None:
    """Raise share.version to this level, as an operator does."""
    catalogue.commit([Versioned(FeatureLevelRecord(name=SHARE_VERSION, feature_level=level))])


def share_world(settings: dict[str, str] | None = None, **world: Any) -> BrokerWorld:
    """A broker with share groups, and the topic `t` with two partitions."""
    made = BrokerWorld({**ONE_PARTITION, **(settings or {})}, topics={"t": 2}, **world)
    enable_share_groups(made.services.catalogue)
    return made


def share_key(world: BrokerWorld, group: str = "g", partition: int = 0, topic: str = "t") -> SharePartitionKey:
    """The key of a share partition."""
    return SharePartitionKey(group, world.services.catalogue.topics[topic].topic_id, partition)


def change(
    *batches: tuple[int, int, int, int],
    state_epoch: int = 1,
    leader_epoch: int = 0,
    start_offset: int = 0,
    complete: int = 0,
) -> ShareStateUpdate:
    """A change with these ranges: first and last offset, state, delivery count."""
    return ShareStateUpdate(state_epoch, leader_epoch, start_offset, complete, list(map(StateBatch._make, batches)))


async def answer_of(services: Services, request: Request, version: int | None = None) -> Any:
    """The answer to a request for an API that is not in the table of the broker, through its bytes."""
    row = next(row for row in API_TABLE if row.key == type(request).__schema__.key)
    version = row.max_version if version is None else version
    decoded, _ = request_codec(row.key, version).decode(request_codec(row.key, version).encode(request))
    handler = importlib.import_module(f"barnabas.broker.api.handlers.{row.handler}")
    answer = handler.handle(decoded, RequestContext(services, row.key, version))
    codec = response_codec(row.key, version)
    return codec.decode(codec.encode(await answer if isinstance(answer, Future) else answer))[0]

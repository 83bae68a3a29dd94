"""The APIs of the catalogue, called as a client calls them: every request and answer goes through its bytes."""

import importlib
from asyncio import AbstractEventLoop
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from barnabas.broker.api.api_table import API_TABLE, offered_apis
from barnabas.broker.clients.quotas.node_quotas import NodeQuotas
from barnabas.broker.coordinator.transaction.producer_ids import ProducerIds
from barnabas.broker.metadata.cluster.node_view import Node, NodeView
from barnabas.broker.runtime.events import Events
from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.registry import request_codec, response_codec
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.catalogue import NODE_ID, CatalogueWorld

CLUSTER_ID = "test-cluster"
_AT_ONCE = CooperativeScheduler(
    cast(AbstractEventLoop, None), lambda: 0.0
)  # what does not end in its first slice has no loop here


class _Roomy:
    """A disk that is never full."""

    def check_may_grow(self) -> None:
        """It may."""


class CatalogueApi:
    """A broker that has a catalogue, and nothing to do with records or groups."""

    def __init__(self, settings: dict[str, str] | None = None, topics: Mapping[str, int] | None = None) -> None:
        """`topics`: to be created, and how many partitions each has."""
        self.world = CatalogueWorld(settings=settings)
        self._open()
        for name, partitions in (topics or {}).items():
            self.services.catalogue.create_topic(name, partitions)

    def restart(self) -> None:
        """A clean stop and start."""
        self.world.stop()
        self._open()

    def _open(self) -> None:
        rack = self.world.config.value("broker.rack")
        own = {
            "node": Node(NODE_ID, CLUSTER_ID, "localhost", 9092, rack if isinstance(rack, str) else None),
            "cluster": NodeView(NODE_ID, self.world.catalogue),
            "config": self.world.config,
            "clock": VirtualClock(),
            "catalogue": self.world.catalogue,
            "producer_ids": ProducerIds(self.world.catalogue.allocate_producer_ids),
            "offered_apis": offered_apis(),
            "disk_space": _Roomy(),
            "events": Events(),
            "quotas": NodeQuotas(self.world.catalogue.client_quotas, self.world.config, VirtualClock(), lambda: 0.0),
            "request_scheduler": _AT_ONCE,
            "upkeep": _AT_ONCE,
        }
        untouched: dict[str, Any] = {each.name: None for each in fields(Services)}  # parts these handlers do not touch
        self.services = Services(**(untouched | own))

    def ask(self, request: Request, version: int | None = None) -> Any:
        """The answer to `request` in `version`, by default the newest that is offered."""
        row = next(row for row in API_TABLE if row.key == type(request).__schema__.key)
        version = row.max_version if version is None else version
        decoded, _ = request_codec(row.key, version).decode(request_codec(row.key, version).encode(request))
        handler = importlib.import_module(f"barnabas.broker.api.handlers.{row.handler}")
        answer = handler.handle(decoded, RequestContext(self.services, row.key, version))
        codec = response_codec(row.key, version)
        return codec.decode(codec.encode(answer))[0]


def versions(request: type[Request]) -> range:
    """Every version of an API that is offered."""
    row = next(row for row in API_TABLE if row.key == request.__schema__.key)
    return range(row.min_version, row.max_version + 1)

"""A request that matched a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.broker.control.faults.matching import RequestNames
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection
    from barnabas.broker.services import Services


class MatchedRequest(NamedTuple):
    """A request that matched a fault, without its bytes. position: the end of its header, without the header's tags."""

    api: ApiKey
    version: int
    entry: FrameHandler
    services: Services
    position: int
    correlation_id: int
    client: RequestConnection
    names: RequestNames | None = None
    """The names in it, if they were decoded already."""

    def facts(self) -> dict[str, Any]:
        """Return the API, the node and the client of the request."""
        return {
            "api": self.api.api_name,
            "node": self.services.node.node_id,
            "client_id": self.client.client_id,
            "connection": self.client.peer,
        }

    def topic_name(self, topic_id: bytes) -> str:
        """Return the name of the topic with this id; "" if there is none."""
        topic = self.services.catalogue.topics_by_id.get(topic_id)
        return "" if topic is None else topic.name

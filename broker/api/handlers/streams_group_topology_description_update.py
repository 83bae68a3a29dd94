"""StreamsGroupTopologyDescriptionUpdate (key 93), v0: store how a program describes its topology (KIP-1331).

Kafka's broker hands descriptions to a plugin, and has none unless it is configured; this broker can load none. So the
answer is always Kafka's without a plugin: UNSUPPORTED_VERSION, whatever the request holds, with a message if streams
groups are offered. No heartbeat asks a member for a description. Since Kafka 4.4.
"""

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)

_NO_PLUGIN = "The broker has no streams group topology description plugin configured."


def handle(
    request: StreamsGroupTopologyDescriptionUpdateRequest, context: RequestContext
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    return StreamsGroupTopologyDescriptionUpdateResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        error_message=_NO_PLUGIN if context.services.offers_streams_groups else None,
    )

"""UnregisterBroker (key 64), v0: remove the registration of a broker that is gone.

The registered brokers run: one of them is INVALID_REQUEST (docs/differences.md), any other BROKER_ID_NOT_REGISTERED.
"""

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


def handle(request: UnregisterBrokerRequest, context: RequestContext) -> UnregisterBrokerResponse:
    broker_id = request.broker_id
    if broker_id in {node.node_id for node in context.services.cluster.nodes(context.node)}:
        return UnregisterBrokerResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"Broker ID {broker_id} is running: only a stopped broker can be unregistered",
        )
    return UnregisterBrokerResponse(
        error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
        error_message=f"Broker ID {broker_id} is not currently registered",
    )

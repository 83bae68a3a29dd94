"""UnregisterController (key 94), v0: remove the registration of a controller that is gone.

The only controller is this node, and active: INVALID_REQUEST. Any other is CONTROLLER_ID_NOT_REGISTERED. Since Kafka
4.4.
"""

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.unregister_controller import UnregisterControllerRequest, UnregisterControllerResponse


def handle(request: UnregisterControllerRequest, context: RequestContext) -> UnregisterControllerResponse:
    controller_id = request.controller_id
    if controller_id == context.services.node.node_id:
        return UnregisterControllerResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"Controller ID {controller_id} is running: only a stopped one can be unregistered.",
        )
    return UnregisterControllerResponse(
        error_code=ErrorCode.CONTROLLER_ID_NOT_REGISTERED,
        error_message=f"Controller ID {controller_id} is not currently registered.",
    )

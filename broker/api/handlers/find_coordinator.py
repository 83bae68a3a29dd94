"""FindCoordinator (key 10), v0-6: which broker coordinates a group, a transactional id or a share partition.

It is the leader of the key's partition of `__consumer_offsets`, `__transaction_state` or `__share_group_state`, which
is created if needed; if this broker leads it, the partition begins to load. Key types: 0 group, 1 transactional id
(from v1 on), 2 share partition (from v6 on; COORDINATOR_NOT_AVAILABLE without share groups); others INVALID_REQUEST.
v0-3 have one key, v4 and later a list with an error for each.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.share.decisions.keys import parse_key
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.storage.steps import Steps, mapped

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_BATCHED_SINCE, _SHARE_SINCE = 4, 6
_NO_NODE = -1


def handle(
    request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse | Future[FindCoordinatorResponse]:
    if context.api_version >= _BATCHED_SINCE:
        return context.services.request_scheduler.in_slices(lambda: _find_all(request, context))
    only = _find(request.key, request.key_type, context)
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _find_all(request: FindCoordinatorRequest, context: RequestContext) -> Steps[FindCoordinatorResponse]:
    found = yield from mapped(lambda key: _find(key, request.key_type, context), request.coordinator_keys)
    return FindCoordinatorResponse(coordinators=found)


def _find(key: str, key_type: int, context: RequestContext) -> Coordinator:
    services = context.services
    try:
        if key_type == _GROUP:
            where = CONSUMER_OFFSETS_TOPIC, services.groups.prepare(key)
        elif key_type == _TRANSACTION:
            where = TRANSACTION_STATE_TOPIC, services.transactions.prepare(key)
        elif key_type == _SHARE and context.api_version >= _SHARE_SINCE:
            where = SHARE_GROUP_STATE_TOPIC, _share_partition(key, services)
        else:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"there is no coordinator for key type {key_type}")
        coordinator = services.cluster.coordinator_of(*where)
        if coordinator == NO_LEADER:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no node leads {where[0]}-{where[1]}")
    except KafkaError as error:
        return Coordinator(
            key=key, node_id=_NO_NODE, host="", port=_NO_NODE, error_code=error.code, error_message=error.message
        )
    node = services.cluster.node(coordinator, context.node)
    return Coordinator(
        key=key, node_id=node.node_id, host=node.host, port=node.port, error_code=ErrorCode.NONE, error_message=""
    )


def _share_partition(key: str, services: Services) -> int:
    if not services.offers_share_groups:
        parse_key(key)
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "share groups are not enabled: share.version is 0")
    return services.shares.prepare(key)

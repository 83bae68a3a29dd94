"""DescribeCluster (key 60), v0-2: the cluster's id and its brokers, from version 2 on also those that are fenced.

With several nodes, a stopped one is fenced, like a broker of Apache Kafka that was shut down. Endpoint type 1 is a
broker, 2 a controller: there is no controller endpoint here, so that is MISMATCHED_ENDPOINT_TYPE, and any other number
UNSUPPORTED_ENDPOINT_TYPE.
"""

from barnabas.broker.api.guards.authorized_operations import CLUSTER_OPERATIONS, NOT_REQUESTED
from barnabas.broker.metadata.cluster.node_view import Node
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKER, _CONTROLLER = 1, 2


def handle(request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    cluster, own = context.services.cluster, context.node
    if request.endpoint_type != _BROKER:
        return _refuse(request.endpoint_type)
    brokers = [_broker(node) for node in cluster.nodes(own)]
    if request.include_fenced_brokers:
        brokers += [_broker(node, is_fenced=True) for node in cluster.fenced(own)]
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        cluster_id=own.cluster_id,
        controller_id=cluster.controller_id,
        brokers=sorted(brokers, key=lambda broker: broker.broker_id),
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )


def _broker(node: Node, *, is_fenced: bool = False) -> DescribeClusterBroker:
    return DescribeClusterBroker(
        broker_id=node.node_id, host=node.host, port=node.port, rack=node.rack, is_fenced=is_fenced
    )


def _refuse(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == _CONTROLLER:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        why = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    else:
        code, why = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
    return DescribeClusterResponse(error_code=code, error_message=why, cluster_id="", brokers=[])

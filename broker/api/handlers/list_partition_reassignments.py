"""ListPartitionReassignments (key 46), v0: the partitions that are moving to other replicas. Here there are never any.

Requested topics and partitions that do not exist are left out like all others, as in Kafka.
"""

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def handle(request: ListPartitionReassignmentsRequest, context: RequestContext) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None, topics=[])

# compiled: mypyc
"""Fetch (key 1), v4-18. Batches from a fetch offset on, for many partitions; waits until there is enough.

Each partition has its own code: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v13), OFFSET_OUT_OF_RANGE,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER where another node leads, KAFKA_STORAGE_ERROR,
CORRUPT_MESSAGE, TOPIC_AUTHORIZATION_FAILED where the topic may not be read. Session errors are at the top, and so is
INVALID_REQUEST for an isolation level that does not exist. A fetch as a replica (replica id 0 or above) gets
NOT_LEADER_OR_FOLLOWER for every partition: there is no replication by fetch.

From v11 on a consumer may read from any in-sync replica, of several nodes. The leader sends it to one, if the request
has a rack: the answer then names the replica, and has no records (KIP-392).

A request waits for a partition that is being recovered as for one without data; if it still is when the answer is due
it gets NOT_LEADER_OR_FOLLOWER, and the client retries. After a clean stop a Fetch of more partitions than can be opened
in one turn of the event loop is answered when all are open: other requests are served in between.

The answer contains slices of segment files; they are read when the connection can take them. Limits and order as in
Kafka: partitions in order, the first that has data gives at least one whole batch, MaxBytes and fetch.max.bytes limit
the sum, and a limit may cut in the middle of a batch. Partitions that are not known come last, and do not prevent the
others from waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from barnabas.broker.api.produce_fetch.delayed_fetch import DelayedFetch
from barnabas.broker.api.produce_fetch.fetch_refusals import report_errors
from barnabas.broker.partitions.fetch.fetch_sessions import SessionRefused
from barnabas.broker.partitions.fetch.sliced_fetch import answer_in_turns
from barnabas.broker.runtime.replies import answer_after
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.hot.fetch import FetchAnswer, FetchedPartition, FetchRequest

if TYPE_CHECKING:
    from asyncio import Future

    from barnabas.broker.partitions.purgatory import DelayedOperation

_READ_AT_ONCE_MAX: Final = 1_000
_TOPIC_IDS_SINCE: Final = 13
_READ_UNCOMMITTED: Final = 0
_READ_COMMITTED: Final = 1


def handle(
    request: FetchRequest, context: RequestContext
) -> FetchAnswer | DelayedOperation[FetchAnswer] | Future[FetchAnswer]:
    services = context.services
    if request.isolation_level not in (_READ_UNCOMMITTED, _READ_COMMITTED):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"there is no isolation level {request.isolation_level}")
    try:
        session = services.fetch_sessions.begin(request, context.api_version >= _TOPIC_IDS_SINCE)
    except SessionRefused as refused:
        report_errors(context, [(None, None, refused.code)])
        return FetchAnswer(refused.code, refused.session_id, [])
    if request.replica_id >= 0:
        code = _no_replica(context)
        return session.answered([FetchedPartition(requested.partition, code) for _, requested in session.wanted])
    fetch = DelayedFetch(request, session, context)
    if len(session.wanted) > _READ_AT_ONCE_MAX:
        return answer_in_turns(fetch, services.request_scheduler)
    results = fetch.read()
    if fetch.opens_later:
        opened = services.request_scheduler.in_slices(fetch.open_all)
        return answer_after(opened, lambda: fetch.answer(fetch.read()))
    return fetch.answer(results)


def _no_replica(context: RequestContext) -> ErrorCode:
    """Return the code for a fetch as a replica: not authorized, or not a replica."""
    rights = context.rights
    if rights is not None and not rights.allows(Operation.CLUSTER_ACTION, Resource.CLUSTER):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NOT_LEADER_OR_FOLLOWER

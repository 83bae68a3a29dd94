"""The guard of Produce, whose requests and answers are tuples (`protocol/hot/produce.py`).

A batch in a transaction needs Write on its transactional id: else nothing of the request is appended. A topic without
Write is answered with TOPIC_AUTHORIZATION_FAILED, and the batches of the others are appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from barnabas.broker.api.guards.guard import Guarding
from barnabas.broker.security.acl.rights import Rights
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import OwnedRequestContext, RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.hot.produce import PartitionResult
from barnabas.protocol.records.batch import HEADER_SIZE, TRANSACTIONAL_MASK
from barnabas.storage.steps import finish

if TYPE_CHECKING:
    from barnabas.protocol.hot.produce import ProduceRequest

_ATTRIBUTES_LOW_BYTE: Final = 22


def produce(request: ProduceRequest, context: RequestContext, rights: Rights) -> Guarding:
    """Check a request as described above. No pauses where records are views of a frame that is valid for one turn."""
    transactional_id, acks, timeout_ms, topics = request
    if _is_transactional(topics) and not (
        transactional_id is not None and rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)
    ):
        return _refused(topics, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    names = [_name(topic, context) for topic, _ in topics]
    allowed = rights.each_allowed(Operation.WRITE, Resource.TOPIC, (name for name in names if name is not None))
    writable = (yield from allowed) if isinstance(context, OwnedRequestContext) else finish(allowed)
    named = list(zip(names, topics, strict=True))
    hidden = [each for name, each in named if name is not None and name not in writable]
    if not hidden:
        return (yield request)
    answers = _refused(hidden, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    kept = [each for name, each in named if name is None or name in writable]
    if not kept:
        return answers
    produced = yield transactional_id, acks, timeout_ms, kept
    return [*produced, *answers]


def _is_transactional(topics: Any) -> bool:
    return any(
        records is not None and len(records) >= HEADER_SIZE and bool(records[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_MASK)
        for _, partitions in topics
        for _, records in partitions
    )


def _name(topic: str | bytes, context: RequestContext) -> str | None:
    """Return the name of a topic; None for an id that does not exist."""
    if isinstance(topic, str):
        return topic
    found = context.services.catalogue.topics_by_id.get(topic)
    return None if found is None else found.name


def _refused(topics: Any, code: ErrorCode) -> list[Any]:
    return [(topic, [PartitionResult(index, code) for index, _ in partitions]) for topic, partitions in topics]

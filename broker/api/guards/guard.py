"""The type of a guard, and its building blocks: checks of a whole request, and lists of which only a part may pass.

A guard gets a request and the rights of the client. It answers a request that is refused as a whole with the API's own
error answer; or it passes the allowed part to the handler, and puts the refused part into the answer, with its code.

It is a generator, since a request of a client without any rights may name a hundred thousand topics: it pauses after
each, and `guarded_handler.py` lets other requests run.

Invariants: a request is never changed, since it may be in a cache (`broker/api/decoded_request_cache.py`); a copy of it
is passed on. The work between two pauses is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from copy import copy
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from barnabas.broker.api.error_responses import error_response_in_steps
from barnabas.broker.security.acl.rights import Rights, refusal
from barnabas.broker.security.session.operations import CLUSTER_NAME, Access, Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.registry import ApiKey, spec
from barnabas.storage.steps import Steps

Guarding: TypeAlias = Generator[Any, Any, Any]
"""One request's way through a guard, to its answer.

It pauses with None, or with the request for the handler, and is sent the response.
"""
Guard: TypeAlias = Callable[[Any, RequestContext, Rights], Guarding]
R = TypeVar("R")


def with_fields(struct: R, **fields: object) -> R:
    """Return a copy of a request or a response, with some values replaced."""
    changed = copy(struct)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


_ONLY_AT_THE_TOP: Final = frozenset(
    (
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_DELETE,
        ApiKey.OFFSET_FETCH,
    )
)
"""The APIs whose answers list nothing when the code is at the top."""
_NOTHING: Final = {
    ApiKey.DELETE_RECORDS: {"low_watermark": -1},
    ApiKey.OFFSET_FETCH: {"committed_offset": -1},
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {"leader_epoch": -1},
}
"""The values of partitions besides an error."""
_NULL_PROTOCOL_NAME_SINCE: Final = 7


def refused(request: Any, why: KafkaError, context: RequestContext, *, in_part: bool = False) -> Steps[Any]:
    """Return the answer to a request that is refused as a whole, as Kafka's own requests make it.

    in_part: it is for the refused part of a request, whose answer has no error at its top.
    """
    key, version = ApiKey(context.api_key), context.api_version
    response: Any = yield from error_response_in_steps(spec(key), version, request, why.code, why.message)
    assert response is not None, request
    if in_part and hasattr(response, "error_code"):
        response.error_code = ErrorCode.NONE
    elif key in _ONLY_AT_THE_TOP and bool(getattr(response, "error_code", False)):
        for field in response.__schema__.fields:
            if field.type.element is not None:
                setattr(response, field.name, [])
    if key in _NOTHING:
        for partition in (each for topic in response.topics for each in topic.partitions):
            for name, value in _NOTHING[key].items():
                setattr(partition, name, value)
            yield
    if key is ApiKey.JOIN_GROUP and version >= _NULL_PROTOCOL_NAME_SINCE:
        response.protocol_name = None
    return response


# --- checks of the whole request ---


def cluster(operation: Operation) -> Guard:
    """Check the operation on the cluster."""
    return partial(_checked, Access(operation, Resource.CLUSTER), None)


def group(operation: Operation) -> Guard:
    """Check the operation on the group that the request names."""
    return partial(_checked, Access(operation, Resource.GROUP), "group_id")


def transactional_id(operation: Operation) -> Guard:
    """Check the operation on the transactional id that the request names."""
    return partial(_checked, Access(operation, Resource.TRANSACTIONAL_ID), "transactional_id")


def _checked(access: Access, field: str | None, request: Any, context: RequestContext, rights: Rights) -> Guarding:
    if rights.allows(*access, CLUSTER_NAME if field is None else getattr(request, field)):
        return (yield request)
    return (yield from refused(request, refusal(access.resource), context))


def both(*guards: Guard) -> Guard:
    """Run the guards one after the other; the first that refuses decides."""
    return partial(_nested, guards)


def _nested(guards: Sequence[Guard], request: Any, context: RequestContext, rights: Rights) -> Guarding:
    first, *others = guards
    if not others:
        return (yield from first(request, context, rights))
    steps = first(request, context, rights)
    response = None
    while True:
        try:
            wanted = steps.send(response)
        except StopIteration as over:
            return over.value
        response = None if wanted is None else (yield from _nested(others, wanted, context, rights))
        if wanted is None:
            yield


# --- lists of which a part passes ---


def topic_name(requested: Any, context: RequestContext) -> str | None:
    """Return the topic of an element of a request; None for an id that does not exist, which is no secret."""
    topic_id = getattr(requested, "topic_id", ZERO_UUID)
    if topic_id == ZERO_UUID:
        name: str | None = requested.name or None
        return name
    found = context.services.catalogue.topics_by_id.get(topic_id)
    return None if found is None else found.name


def divided(
    elements: Iterable[Any],
    names: Callable[[Any], str | None],
    access: Access,
    rights: Rights,
    *,
    quietly: bool = False,
) -> Steps[tuple[list[Any], list[Any]]]:
    """Return the elements that are allowed, or that name nothing, and the others. Checks each name once."""
    named = []
    for each in elements:
        named.append((each, names(each)))
        yield
    requested = (name for _, name in named if name is not None)
    allowed = yield from rights.each_allowed(*access, requested, quietly=quietly)
    permitted: list[Any] = []
    others: list[Any] = []
    for each, name in named:
        (permitted if name is None or name in allowed else others).append(each)
        yield
    return permitted, others


def topics(operation: Operation, field: str = "topics", answered: str = "topics", name: str = "name") -> Guard:
    """Check the operation on each topic in a list: the others are answered with TOPIC_AUTHORIZATION_FAILED."""
    return partial(_each, Access(operation, Resource.TOPIC), field, answered, name)


def groups(operation: Operation, field: str, answered: str) -> Guard:
    """Check the operation on each group in a list of ids: the others are answered with GROUP_AUTHORIZATION_FAILED."""
    return partial(_each, Access(operation, Resource.GROUP), field, answered, None)


def _each(
    access: Access,
    field: str,
    answered: str,
    name: str | None,
    request: Any,
    context: RequestContext,
    rights: Rights,
) -> Guarding:
    def named(element: Any) -> str | None:
        if name is None:
            return str(element)
        return topic_name(element, context) if name == "name" else str(getattr(element, name))

    elements = getattr(request, field)
    permitted, others = yield from divided(
        elements if name is not None else dict.fromkeys(elements), named, access, rights
    )
    return (yield from some(request, context, field, answered, permitted, others, refusal(access.resource)))


def some(
    request: Any,
    context: RequestContext,
    field: str,
    answered: str,
    permitted: list[Any],
    others: list[Any],
    why: KafkaError,
) -> Guarding:
    """Pass on the allowed elements of a list, and append the others to the answer with an error."""
    if not others:
        return (yield request)
    answer = yield from refused(with_fields(request, **{field: others}), why, context, in_part=True)
    if not permitted:
        return answer
    response = yield with_fields(request, **{field: permitted})
    return with_fields(response, **{answered: [*getattr(response, answered), *getattr(answer, answered)]})

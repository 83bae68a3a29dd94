# compiled: mypyc
"""The entries of Produce and Fetch: tuples instead of message objects, and as few calls as possible.

The header is read in `dispatch.py`; the rules of the error boundary are those of all other APIs (`stages/decoding.py`).
Their handlers take and return the tuples of `barnabas.protocol.hot`. Where other nodes may lead, their answers also
name the leaders; whether the version allows that is decided when an entry is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.api.deferred_response import (
    Answer,
    CloseConnection,
    answer_to,
    code_and_message,
    failure_of,
    raise_closing,
)
from barnabas.broker.api.produce_fetch import many_partitions
from barnabas.broker.api.produce_fetch.current_leader import (
    FETCH_NAMES_LEADERS_SINCE,
    PRODUCE_NAMES_LEADERS_SINCE,
    with_current_leaders,
)
from barnabas.broker.api.stages.large_requests import DECODING
from barnabas.broker.partitions.produce.delayed_produce import may_hold
from barnabas.broker.partitions.purgatory import DelayedOperation
from barnabas.broker.runtime.replies import Reply, answer_after, reply_to
from barnabas.broker.services import OwnedRequestContext, RequestContext, Services
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.hot import fetch, produce
from barnabas.protocol.hot.reading import AT_ONCE_MAX, ManyPartitions
from barnabas.protocol.hot.writing import Topic
from barnabas.protocol.primitives import skip_tags
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.partitions.opening.recoveries import Recoveries

Produced = list[tuple[Topic, list[produce.PartitionResult]]]
HandleProduce = Callable[[produce.ProduceRequest, RequestContext], Produced | asyncio.Future[Produced]]
_FETCH_BYTES_AT_ONCE_MAX: Final = 64 << 10
FetchedLater = DelayedOperation[fetch.FetchAnswer] | asyncio.Future[fetch.FetchAnswer]
HandleFetch = Callable[[fetch.FetchRequest, RequestContext], fetch.FetchAnswer | FetchedLater]


def produce_entry(services: Services, handle: HandleProduce, version: int, meter: Meter | None) -> FrameHandler:
    """Serve Produce in one version."""
    is_flexible = ApiKey.PRODUCE.is_flexible(version)
    decode, encode = produce.decode_request, produce.encode_response
    names_leaders = services.cluster.has_others and version >= PRODUCE_NAMES_LEADERS_SINCE

    def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
        try:
            if is_flexible:
                position = skip_tags(frame, position) if frame[position] else position + 1
            request = decode(frame, position, version, AT_ONCE_MAX)
        except (DecodeError, IndexError) as error:
            raise CloseConnection(str(error), "Produce") from error
        except ManyPartitions:
            if may_hold(len(frame), services.partitions.recoveries):
                facts = ApiKey.PRODUCE, version, correlation_id, client.client_id, client.client_host
                own = OwnedRequestContext(services, *facts, client)
                return _produce_many(frame[position:], own, handle, meter, client if names_leaders else None)
            request = decode(frame, position, version)
        context = RequestContext(
            services, ApiKey.PRODUCE, version, correlation_id, client.client_id, client.client_host, client
        )
        try:
            produced = handle(request, context)
        except Exception as error:
            produced = _produce_failed(request[3], code_and_message(error, "Produce", context)[0])
        if isinstance(produced, list):
            if meter is not None:  # as _note_produced does, without the cost of a call
                for _, results in produced:
                    for result in results:
                        if result[1]:
                            meter.errors[ApiKey.PRODUCE, result[1]] += 1
            if request[1] == 0:
                _close_if_failed(produced)
                return None
            if names_leaders:
                return encode(version, correlation_id, *with_current_leaders(produced, services, client))
            return encode(version, correlation_id, produced)
        # The decoded request refers to the frame, which is gone when the answer comes.
        requested: list[tuple[Topic, list[produce.ProducePartition]]] = [
            (topic, [(index, None) for index, _ in parts]) for topic, parts in request[3]
        ]
        respond = partial(_produced_late, request[1], context, meter, client if names_leaders else None)
        failed = partial(_produce_failed_late, requested, context, respond)
        return answer_to(produced, respond, failed, may_be_given_up=False)  # some of it may be in the log

    return serve


def _produce_many(
    body: memoryview,
    context: RequestContext,
    handle: HandleProduce,
    meter: Meter | None,
    asker: RequestConnection | None,
) -> Answer:
    """Serve a large request in slices, on a copy, without a time limit."""
    services, recoveries = context.services, context.services.partitions.recoveries
    recoveries.parked_bytes += len(body)
    requests: list[produce.ProduceRequest] = []
    steps = partial(many_partitions.produce_request, memoryview(bytearray(body)), context.api_version)
    decode = partial(services.request_scheduler.in_slices, steps, DECODING)
    go_on = partial(_handle_many, requests, keep_current_request(services), handle, context)
    produced = reply_to(services.request_scheduler.next_turn, partial(_decode_many, decode, go_on))
    assert isinstance(produced, asyncio.Future)
    produced.add_done_callback(partial(_let_go, recoveries, len(body)))
    respond = partial(_produced_many, requests, context, meter, asker)
    failed = partial(_produce_many_failed, requests, context, respond)
    return answer_to(produced, respond, failed, may_be_given_up=False)


def _decode_many(
    decode: Callable[[], Reply[produce.ProduceRequest]],
    go_on: Callable[[produce.ProduceRequest], Reply[Produced]],
    _: None,
) -> Reply[Produced]:
    return reply_to(decode, go_on)


def _handle_many(
    requests: list[produce.ProduceRequest],
    as_current_request: Callable[[Callable[[], Reply[Produced]]], Reply[Produced]],
    handle: HandleProduce,
    context: RequestContext,
    request: produce.ProduceRequest,
) -> Reply[Produced]:
    requests.append(request)
    return as_current_request(partial(handle, request, context))


def _let_go(recoveries: Recoveries, size: int, _: asyncio.Future[Produced]) -> None:
    recoveries.parked_bytes -= size


def _produced_many(
    requests: list[produce.ProduceRequest],
    context: RequestContext,
    meter: Meter | None,
    asker: RequestConnection | None,
    results: Produced,
) -> Answer:
    ((_, acks, _, _),) = requests
    return _produced_late(acks, context, meter, asker, results)


def _produce_many_failed(
    requests: list[produce.ProduceRequest],
    context: RequestContext,
    respond: Callable[[Produced], Answer],
    failure: BaseException,
) -> Answer:
    if not requests:  # it is broken, or the broker stops
        return raise_closing("Produce", failure)
    ((_, _, _, topics),) = requests
    return _produce_failed_late(topics, context, respond, failure)


def _produce_failed_late(
    requested: list[tuple[Topic, list[produce.ProducePartition]]],
    context: RequestContext,
    respond: Callable[[Produced], Answer],
    failure: BaseException,
) -> Answer:
    return respond(_produce_failed(requested, code_and_message(failure, "Produce", context)[0]))


def _produced_late(
    acks: int, context: RequestContext, meter: Meter | None, asker: RequestConnection | None, results: Produced
) -> Answer:
    """Encode a late answer. It is no closure: mypyc makes a cycle of a function within one that is nested itself."""
    if meter is not None:
        _note_produced(meter, results)
    if acks == 0:
        _close_if_failed(results)
        return None
    if asker is not None:
        return produce.encode_response(
            context.api_version, context.correlation_id, *with_current_leaders(results, context.services, asker)
        )
    return produce.encode_response(context.api_version, context.correlation_id, results)


def _produce_failed(topics: Sequence[tuple[Topic, Sequence[produce.ProducePartition]]], code: ErrorCode) -> Produced:
    return [(topic, [produce.PartitionResult(index, code) for index, _ in parts]) for topic, parts in topics]


def _note_produced(meter: Meter, produced: Produced) -> None:
    """Count the errors; mostly there is one partition, and none."""
    for _, results in produced:
        for result in results:
            if result[1]:
                meter.errors[ApiKey.PRODUCE, result[1]] += 1


def _close_if_failed(results: Produced) -> None:
    """Raise CloseConnection on an error: acks=0 has no response that could show it."""
    for topic, partitions in results:
        for result in partitions:
            if result.error_code != 0:
                code = ErrorCode(result.error_code).name
                raise CloseConnection(f"acks=0 and {code} for {topic!r} partition {result.partition}", "Produce")


def fetch_entry(services: Services, handle: HandleFetch, version: int, meter: Meter | None) -> FrameHandler:
    """Serve Fetch in one version."""
    is_flexible = ApiKey.FETCH.is_flexible(version)
    names_leaders = services.cluster.has_others and version >= FETCH_NAMES_LEADERS_SINCE

    def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
        context = RequestContext(
            services, ApiKey.FETCH, version, correlation_id, client.client_id, client.client_host, client
        )
        asker = client if names_leaders else None
        try:
            if is_flexible:
                position = skip_tags(frame, position) if frame[position] else position + 1
            if len(frame) > _FETCH_BYTES_AT_ONCE_MAX:
                return _fetch_many(frame[position:], context, handle, meter, asker)
            request = fetch.decode_request(frame, position, version)
        except (DecodeError, IndexError) as error:
            raise CloseConnection(str(error), "Fetch") from error
        try:
            answer = handle(request, context)
            if isinstance(answer, fetch.FetchAnswer):
                return _fetched(answer, context, meter, asker)
        except Exception as error:
            return _fetched(_fetch_failed(request, error, context), context, meter, asker)
        respond = partial(_fetched_late, request, context, meter, asker)
        return answer_to(answer, respond, partial(_fetch_failed_late, request, context, respond))

    return serve


def _fetch_many(
    body: memoryview, context: RequestContext, handle: HandleFetch, meter: Meter | None, asker: RequestConnection | None
) -> Answer:
    """Serve a large request, decoded from a copy, in slices."""
    slices = context.services.request_scheduler
    steps = partial(many_partitions.fetch_request, memoryview(bytes(body)), context.api_version)
    reply = slices.in_slices(steps, DECODING)
    if isinstance(reply, asyncio.Future):
        decoded = reply
    else:
        decoded = slices.loop.create_future()
        decoded.set_result(reply)
    go_on = partial(_handle_fetch, decoded, keep_current_request(context.services))
    answer = answer_after(decoded, partial(go_on, handle, context))
    assert isinstance(answer, asyncio.Future)
    respond = partial(_fetched_many, decoded, context, meter, asker)
    return answer_to(answer, respond, partial(_fetch_many_failed, decoded, context, respond))


def _handle_fetch(
    decoded: asyncio.Future[fetch.FetchRequest],
    as_current_request: Callable[[Callable[[], Any]], Any],
    handle: HandleFetch,
    context: RequestContext,
) -> fetch.FetchAnswer | FetchedLater:
    answer: fetch.FetchAnswer | FetchedLater = as_current_request(partial(handle, decoded.result(), context))
    return answer


def _fetched_many(
    decoded: asyncio.Future[fetch.FetchRequest],
    context: RequestContext,
    meter: Meter | None,
    asker: RequestConnection | None,
    answer: fetch.FetchAnswer,
) -> Answer:
    return _fetched_late(decoded.result(), context, meter, asker, answer)


def _fetch_many_failed(
    decoded: asyncio.Future[fetch.FetchRequest],
    context: RequestContext,
    respond: Callable[[fetch.FetchAnswer], Answer],
    failure: BaseException,
) -> Answer:
    undecoded = failure_of(decoded)
    if undecoded is not None:
        return raise_closing("Fetch", undecoded)
    return _fetch_failed_late(decoded.result(), context, respond, failure)


def _fetch_failed_late(
    request: fetch.FetchRequest,
    context: RequestContext,
    respond: Callable[[fetch.FetchAnswer], Answer],
    failure: BaseException,
) -> Answer:
    return respond(_fetch_failed(request, failure, context))


def _fetched_late(
    request: fetch.FetchRequest,
    context: RequestContext,
    meter: Meter | None,
    asker: RequestConnection | None,
    answer: fetch.FetchAnswer,
) -> Answer:
    try:
        return _fetched(answer, context, meter, asker)
    except Exception as error:
        return _fetched(_fetch_failed(request, error, context), context, meter, asker)


def _fetched(
    answer: fetch.FetchAnswer, context: RequestContext, meter: Meter | None, asker: RequestConnection | None
) -> Answer:
    """Encode the answer. `asker`: the client, if its answer names the leaders of partitions with other leaders."""
    if meter is not None:
        _note_fetched(meter, answer)
    topics, endpoints = (
        (answer.topics, ()) if asker is None else with_current_leaders(answer.topics, context.services, asker)
    )
    parts = fetch.encode_response(
        context.api_version,
        context.correlation_id,
        topics,
        error_code=answer.error_code,
        session_id=answer.session_id,
        node_endpoints=endpoints,
    )
    return parts if len(parts) > 1 else parts[0]


def _note_fetched(meter: Meter, answer: fetch.FetchAnswer) -> None:
    """Count the errors, and the bytes of records by topic."""
    if answer.error_code:
        meter.errors[ApiKey.FETCH, answer.error_code] += 1
    for topic, partitions in answer.topics:
        for each in partitions:
            if each.error_code:
                meter.errors[ApiKey.FETCH, each.error_code] += 1
            elif each.records:
                meter.bytes_read[topic] += len(each.records)


def _fetch_failed(request: fetch.FetchRequest, error: BaseException, context: RequestContext) -> fetch.FetchAnswer:
    """Return an answer with the error at the top; in versions without that field, on every partition."""
    code = code_and_message(error, "Fetch", context)[0]
    if context.api_version >= 7:
        return fetch.FetchAnswer(code, 0, [])
    return fetch.FetchAnswer(
        0,
        0,
        [(topic, [fetch.FetchedPartition(each.partition, code) for each in parts]) for topic, parts in request.topics],
    )

"""A Produce request of very many partitions, appended in pieces, as if each were a request: others run in between.

Knows requests and results, not how a piece is produced. Its records are in its own memory.

Invariants: a piece is produced when the previous one is answered, so batches are appended in the order of the request;
an error of the whole request is known before any of it is appended; all pieces together name no more than
RECORD_ERRORS_MAX errors.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from struct import Struct
from typing import Any, Final, TypeAlias

from barnabas.broker.partitions.produce.deferred_appends import RECORD_ERRORS_MAX, shortened
from barnabas.broker.partitions.produce.deferred_results import Produced
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.hot.produce import PartitionResult, ProducePartition, ProduceRequest
from barnabas.protocol.hot.writing import Topic
from barnabas.protocol.records.batch import HEADER_SIZE, TRANSACTIONAL_MASK

AT_ONCE: Final = 100
"""The number of partitions in a piece."""
PIECES: Final = WorkClass(under_way_max=1_000, may_begin_again=False)
"""Their memory has a separate limit: Recoveries.parked_bytes."""
_ATTRIBUTES_LOW_BYTE: Final = 22
_unpack_producer: Final = Struct(">43xqh").unpack_from  # id, epoch

_Topics: TypeAlias = list[tuple[Topic, list[ProducePartition]]]


def in_pieces(
    request: ProduceRequest, produce: Callable[[ProduceRequest], Reply[Produced]]
) -> Generator[Future[Any] | None, None, Produced]:
    """Produce all pieces and return the results of all partitions, in the order of the request."""
    transactional_id, acks, timeout_ms, topics = request
    refusal = yield from _refusal(request)
    results: list[PartitionResult] = []
    named = 0  # record errors
    for piece in _pieces(topics):
        if refusal is not ErrorCode.NONE:
            results += [PartitionResult(index, refusal) for _, partitions in piece for index, _ in partitions]
        else:
            reply = produce((transactional_id, acks, timeout_ms, piece))
            if isinstance(reply, Future):
                yield reply
                reply = reply.result()
            for _, answered in reply:
                for result in answered:
                    results.append(shortened(result, RECORD_ERRORS_MAX - named))
                    named += len(results[-1].record_errors)
        yield None
    left = iter(results)
    return [(topic, list(islice(left, len(partitions)))) for topic, partitions in topics]


def _pieces(topics: _Topics) -> Iterator[_Topics]:
    piece: _Topics = []
    room = AT_ONCE
    for topic, partitions in topics:
        for begin in range(0, len(partitions), AT_ONCE):
            some = partitions[begin : begin + AT_ONCE]
            if len(some) > room:
                yield piece
                piece, room = [], AT_ONCE
            piece.append((topic, some))
            room -= len(some)
    if piece:
        yield piece


def _refusal(request: ProduceRequest) -> Generator[None, None, ErrorCode]:
    """Return the error code for all partitions; NONE if they may differ."""
    transactional_id, _, _, topics = request
    writers: set[tuple[int, int]] = set()
    for piece in _pieces(topics):
        for _, partitions in piece:
            for _, records in partitions:
                if records is None or len(records) < HEADER_SIZE:
                    continue
                if not records[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_MASK:
                    continue
                if transactional_id is None:
                    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                writers.add(_unpack_producer(records))
        yield
    is_of_many = len([producer_id for producer_id, _ in writers if producer_id >= 0]) > 1
    return ErrorCode.INVALID_PRODUCER_ID_MAPPING if is_of_many else ErrorCode.NONE

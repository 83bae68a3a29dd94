# compiled: mypyc
"""The counters of a metered dispatcher: requests, their times, the errors in their answers, bytes read.

Plain integers, read when metrics are scraped. Without metrics it costs nothing: without a meter the stage is off
(`broker/api/pipeline.py`). With one, a request costs two reads of the clock and a handful of additions (0.6 µs), and a
look at the error codes in its answer (0.3 µs if there is one). Produce and Fetch should pay less: each is counted, but
only the first thousand and then one in 64 are timed. One that is not timed pays 0.1 µs, and as much for its error
codes.

A request's time runs from its frame to its encoded answer, waiting included. Times are counted by powers of two of a
microsecond, so that neither a list of bounds nor a search is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.deferred_response import Answer, DeferredResponse
from barnabas.protocol.codec.schema import Struct
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.hot.writing import Topic
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection

TIME_BUCKETS: Final = 25
"""Bucket n counts times below 2**n µs; the last one, from 16.8 s on, has no upper bound."""
_LAST: Final = TIME_BUCKETS - 1
_HOT: Final = (ApiKey.PRODUCE, ApiKey.FETCH)
_ALL_TIMED: Final = 1_000
_SAMPLE_MASK: Final = 63
_FENCED: Final = {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}
_CODE_FIELDS: Final = ("error_code", "partition_error_code")


class RequestTimes:
    """The requests of one version of an API, and the timed ones by the time to their answer."""

    __slots__ = ("buckets", "requests", "total_ns")

    def __init__(self) -> None:
        self.requests = 0
        """The number of requests."""
        self.buckets = [0] * TIME_BUCKETS
        self.total_ns = 0

    def add(self, elapsed_ns: int) -> None:
        """Add the time of one request."""
        self.buckets[min((elapsed_ns // 1000).bit_length(), _LAST)] += 1
        self.total_ns += elapsed_ns


class Meter:
    """The counters of one broker."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        """Start with zero counters. now_ns: a clock in nanoseconds that never goes back."""
        self.times: dict[tuple[ApiKey, int], RequestTimes] = {}
        """(API, version) -> its requests"""
        self.errors: Counter[tuple[ApiKey, int]] = Counter()
        """(API, error code) -> the number of answers with the code; 0 is no error."""
        self.bytes_read: Counter[Topic] = Counter()
        """Topic, by name or id as on the wire -> bytes of records sent to readers."""
        self._now_ns = now_ns

    @property
    def fenced(self) -> int:
        """The number of times that a producer was refused because another one has its id now."""
        marking = ApiKey.WRITE_TXN_MARKERS  # there it is a coordinator that is late
        return sum(count for (api, code), count in self.errors.items() if code in _FENCED and api is not marking)

    def timed(self, api_key: ApiKey, version: int, entry: FrameHandler) -> FrameHandler:
        """Return the entry, with its requests counted."""
        times = self.times.setdefault((api_key, version), RequestTimes())
        now_ns = self._now_ns

        def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            times.requests += 1
            return serve_timed(frame, position, correlation_id, client)

        def serve_hot(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            times.requests = count = times.requests + 1
            if count & _SAMPLE_MASK and count > _ALL_TIMED:
                return entry(frame, position, correlation_id, client)
            return serve_timed(frame, position, correlation_id, client)

        def serve_timed(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            began_ns = now_ns()
            answer = entry(frame, position, correlation_id, client)
            if type(answer) is DeferredResponse:
                answer.when_encoded(lambda: times.add(now_ns() - began_ns))
            else:
                times.add(now_ns() - began_ns)
            return answer

        return serve_hot if api_key in _HOT else serve

    def note_errors(self, api_key: ApiKey, answer: Struct) -> None:
        """Count the error codes in an answer."""
        for code in error_codes(answer):
            if code:
                self.errors[api_key, code] += 1

    def noting_errors(self, api_key: ApiKey, answer: Struct) -> Generator[None, None, None]:
        """Count the error codes in an answer, in steps."""
        for code in error_codes(answer):
            if code:
                self.errors[api_key, code] += 1
            yield


_Plan = tuple[tuple[str, ...], tuple[tuple[str, "_Plan"], ...]]
"""The fields of a struct that are error codes, and its lists of structs that have some."""
_plans: dict[type[Struct], _Plan] = {}


def error_codes(answer: Struct) -> Iterator[int]:
    """Yield every error code in an answer, 0 for no error."""
    plan = _plans.get(type(answer))
    if plan is None:
        plan = _plans[type(answer)] = _plan(type(answer))
    return _codes_by(plan, answer)


def first_error(answer: Struct, codes_max: int) -> int:
    """Return the first error among the first `codes_max` codes in an answer; 0 if there is none."""
    plan = _plans.get(type(answer))
    if plan is None:
        plan = _plans[type(answer)] = _plan(type(answer))
    return _first_by(plan, answer, codes_max)[0]


def _first_by(plan: _Plan, struct: Struct, left: int) -> tuple[int, int]:
    """Return the code, and the number of codes that may still be checked."""
    for name in plan[0]:
        code: int = getattr(struct, name)
        left -= 1
        if code or not left:
            return code, 0
    for name, inner in plan[1]:
        for element in getattr(struct, name) or ():
            code, left = _first_by(inner, element, left)
            if not left:
                return code, 0
    return 0, left


def _codes_by(plan: _Plan, struct: Struct) -> Iterator[int]:
    for name in plan[0]:
        yield getattr(struct, name)
    for name, inner in plan[1]:
        for element in getattr(struct, name) or ():
            yield from _codes_by(inner, element)


def _plan(struct: type[Struct]) -> _Plan:
    fields = struct.__schema__.fields
    inner = [(each.name, each.type.element.struct) for each in fields if each.type.element is not None]
    plans = [(name, _plan(element)) for name, element in inner if element is not None]
    return (
        tuple(each.name for each in fields if each.name in _CODE_FIELDS),
        tuple((name, plan) for name, plan in plans if any(plan)),
    )

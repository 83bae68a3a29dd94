"""What a metered dispatcher counts: requests, how long they took, the errors they were answered with, bytes read.

Plain integers, read by whoever scrapes. Nothing here is in the way of a broker whose metrics nobody asked for: without
a meter the dispatcher's entries are as they were. With one, a request costs two looks at the clock and a handful of
additions (0.6 µs), and a look at the error codes in its answer (0.3 µs where there is one). Produce and Fetch are to
pay less: counted is each, timed are the first thousand and then one in 64. One that is not timed pays 0.1 µs, and as
much for its error codes.

A request's time runs from its frame to its encoded answer, what it waited for included. Times are counted by powers of
two of a microsecond, so that neither a list of bounds nor a search is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.answers import Answer, DeferredResponse
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
    """The requests of one version of an API, and those that were timed by the time to their answer."""

    __slots__ = ("buckets", "requests", "total_ns")

    def __init__(self) -> None:
        self.requests: Callable[[], int] = int
        """Tells how many requests came."""
        self.buckets = [0] * TIME_BUCKETS
        self.total_ns = 0

    def add(self, elapsed_ns: int) -> None:
        """The time of one request."""
        self.buckets[min((elapsed_ns // 1000).bit_length(), _LAST)] += 1
        self.total_ns += elapsed_ns


class Meter:
    """The counters of one broker."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        """now_ns: nanoseconds that never go back."""
        self.times: dict[tuple[ApiKey, int], RequestTimes] = {}
        """(API, version) -> its requests"""
        self.errors: Counter[tuple[ApiKey, int]] = Counter()
        """(API, error code) -> how often the code was in an answer; 0 is no error."""
        self.bytes_read: Counter[Topic] = Counter()
        """Topic, by name or as the wire has its id -> bytes of records given to readers."""
        self._now_ns = now_ns

    @property
    def fenced(self) -> int:
        """How often a producer was refused because another one has its id now."""
        marking = ApiKey.WRITE_TXN_MARKERS  # where it is a coordinator that is late
        return sum(count for (api, code), count in self.errors.items() if code in _FENCED and api is not marking)

    def timed(self, api_key: ApiKey, version: int, entry: FrameHandler) -> FrameHandler:
        """The entry, with its requests counted."""
        times = self.times.setdefault((api_key, version), RequestTimes())
        now_ns = self._now_ns

        count = 0  # in a cell of the closure: three times as fast as in an attribute

        def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            nonlocal count
            count += 1
            return serve_timed(frame, position, correlation_id, client)

        def serve_hot(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            nonlocal count
            count += 1
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

        before = times.requests()  # of an entry that this one takes the place of
        times.requests = lambda: before + count
        return serve_hot if api_key in _HOT else serve

    def note_errors(self, api_key: ApiKey, answer: Struct) -> None:
        """Count the error codes in an answer."""
        for code in error_codes(answer):
            if code:
                self.errors[api_key, code] += 1

    def noting_errors(self, api_key: ApiKey, answer: Struct) -> Generator[None, None, None]:
        """As `note_errors`, in steps."""
        for code in error_codes(answer):
            if code:
                self.errors[api_key, code] += 1
            yield


_Plan = tuple[tuple[str, ...], tuple[tuple[str, "_Plan"], ...]]
"""The fields of a struct that are error codes, and its lists of structs that have some."""
_plans: dict[type[Struct], _Plan] = {}


def error_codes(answer: Struct) -> Iterator[int]:
    """Every error code in an answer, 0 for no error."""
    plan = _plans.get(type(answer))
    if plan is None:
        plan = _plans[type(answer)] = _plan(type(answer))
    return _codes_by(plan, answer)


def first_error(answer: Struct, codes_max: int) -> int:
    """The first error code in an answer that is one, of so many as are looked at; 0 if none of these is."""
    plan = _plans.get(type(answer))
    if plan is None:
        plan = _plans[type(answer)] = _plan(type(answer))
    return _first_by(plan, answer, codes_max)[0]


def _first_by(plan: _Plan, struct: Struct, left: int) -> tuple[int, int]:
    """The code, and how many may be looked at besides."""
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

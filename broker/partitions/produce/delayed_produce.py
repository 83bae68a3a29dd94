"""Produce requests that wait for a future, with a copy of their records, as these are in the receive buffer.

Knows no partitions. Bounded by the bytes of all records that wait, which Recoveries counts.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.runtime.replies import Reply, reply_to

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable

    from barnabas.broker.partitions.opening.recoveries import Recoveries
    from barnabas.broker.partitions.produce.deferred_results import Produced
    from barnabas.protocol.hot.produce import ProduceRequest

PARKED_BYTES_MAX = 16 << 20


def may_wait(request: ProduceRequest, recoveries: Recoveries) -> bool:
    """Return whether there is room for the request's records."""
    return may_hold(_size(request), recoveries)


def may_hold(size: int, recoveries: Recoveries) -> bool:
    """Return whether there is room for so many bytes."""
    return recoveries.parked_bytes + size <= PARKED_BYTES_MAX


def produce_after(
    first: Future[None],
    produce: Callable[[ProduceRequest], Reply[Produced]],
    request: ProduceRequest,
    recoveries: Recoveries,
) -> Reply[Produced]:
    """Call `produce` with a copy of the request once `first` is done, even if its client does not wait any more."""
    recoveries.parked_bytes += _size(request)
    return reply_to(lambda: first, partial(_go_on, produce, owned(request), recoveries))


def owned(request: ProduceRequest) -> ProduceRequest:
    """Return the request with its own copy of the records."""
    topics = [
        (topic, [(index, records and memoryview(bytearray(records))) for index, records in partitions])
        for topic, partitions in request[3]
    ]
    return *request[:3], topics


def _go_on(
    produce: Callable[[ProduceRequest], Reply[Produced]], request: ProduceRequest, recoveries: Recoveries, _: None
) -> Reply[Produced]:
    recoveries.parked_bytes -= _size(request)
    return produce(request)


def _size(request: ProduceRequest) -> int:
    return sum(len(records or b"") for _, partitions in request[3] for _, records in partitions)

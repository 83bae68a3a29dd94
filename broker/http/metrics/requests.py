"""Requests, their times and errors: the counters of the meter."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate

from barnabas.broker.api.stages.metering import TIME_BUCKETS
from barnabas.broker.http.metrics.sources import Readings, Sources, Times
from barnabas.protocol.errors import ErrorCode

_NS_PER_MS = 1_000_000
_FIRST_BOUND = 4
"""Times below 16 µs are not distinguished: no request is that fast, measured from a network."""
_BOUNDS = [f"{2**exponent / 1000:g}" for exponent in range(_FIRST_BOUND, TIME_BUCKETS - 1)]


def read_requests(sources: Sources, readings: Readings) -> None:
    """Add the counters of the meter."""
    meter = sources.meter
    buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * TIME_BUCKETS)
    total_ns: defaultdict[str, int] = defaultdict(int)
    for (api, version), times in sorted(meter.times.items()):
        name = api.api_name
        readings.add("kafka_network_requestmetrics_requests_total", times.requests, name, version)
        buckets[name] = [so_far + more for so_far, more in zip(buckets[name], times.buckets, strict=True)]
        total_ns[name] += times.total_ns
    for name, counts in buckets.items():
        *below, every = list(accumulate(counts))[_FIRST_BOUND:]
        bounded = [*zip(_BOUNDS, below, strict=True), ("+Inf", every)]
        readings.add("kafka_network_requestmetrics_totaltimems", Times(bounded, total_ns[name] / _NS_PER_MS), name)
    for (api, code), count in sorted(meter.errors.items()):
        readings.add("kafka_network_requestmetrics_errors_total", count, api.api_name, ErrorCode(code).name)
    readings.add("barnabas_producers_fenced_total", meter.fenced)
    access = sources.services.access
    audit = None if access is None else access.authorizer.audit
    readings.add("barnabas_authorizations_total", 0 if audit is None else audit.allowed_count, "allowed")
    readings.add("barnabas_authorizations_total", 0 if audit is None else audit.denied_count, "denied")
    readings.add("barnabas_acls", 0 if access is None else len(access.acls))
